"""The ports through which policies ask a cluster, registries, services and signatures.

`network` and the files of `cli_files` answer them; the engine imports neither.
"""
