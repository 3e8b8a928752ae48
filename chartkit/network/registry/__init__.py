"""Images in registries, read over the OCI distribution protocol.

Manifests are read, the blobs that they name, what refers to them, and the tokens that a registry
wants for all that. Nothing is written, and no registry is asked unless the user says so.
"""
