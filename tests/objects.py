"""Objects of the Kubernetes API, for any test."""

from typing import Any

from chartkit.model import Body


def api_object(version: str, kind: str, metadata: str | Body, **fields: Any) -> Body:
    """An object with some fields; its metadata may be written as `name` or `namespace/name`."""
    if isinstance(metadata, str):
        namespace, _, name = metadata.rpartition("/")
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
