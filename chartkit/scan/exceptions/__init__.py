"""PolicyExceptions: read from files, checked against policies and objects, made of findings."""
