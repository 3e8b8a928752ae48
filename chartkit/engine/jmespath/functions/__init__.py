"""The functions of the language, a module for each kind; each is declared where it is written."""
