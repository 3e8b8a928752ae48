"""The files of Kyverno's command line: values, user information, contexts, recorded objects."""
