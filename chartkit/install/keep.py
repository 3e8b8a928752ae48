"""Makes Helm keep the custom resource definitions of a release that it is about to remove.

Helm asks the manifest that it stored, not the objects, what to keep (`helm.sh/resource-policy`):
the stored record is changed, as `helm` itself has no word for that.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from typing import Final

from chartkit.documents import read_text, resources
from chartkit.install.cluster import Cluster
from chartkit.install.errors import ReleaseError
from chartkit.install.releases import driver, record_name
from chartkit.json_text import parse_json
from chartkit.model import Body
from chartkit.yaml_dump import dump_documents

_POLICY: Final = "helm.sh/resource-policy"
_LARGEST: Final = 64 * 1024 * 1024


def keep_definitions(cluster: Cluster, namespace: str, release: str, revision: int) -> int:
    """Marks the CRDs in a release's stored manifest as kept; gives their number.

    Raises ReleaseError for a record that cannot be read.
    """
    name, kind = record_name(release, revision), driver()
    record = cluster.record(kind, namespace, name)
    if record is None:
        return 0
    encoded = str((record.get("data") or {}).get("release", ""))
    stored = _read(encoded, kind, name)
    bodies = [each.body for each in resources(read_text(stored["manifest"], name))]
    definitions = [body for body in bodies if body["kind"] == "CustomResourceDefinition"]
    for body in definitions:
        metadata = body["metadata"]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _POLICY: "keep"}
    if definitions:
        changed = {**stored, "manifest": dump_documents(bodies)}
        patch = {"data": {"release": _written(changed, kind)}}
        cluster.patch_record(kind, namespace, name, patch)
    return len(definitions)


def _read(encoded: str, kind: str, name: str) -> Body:
    try:
        packed = base64.b64decode(base64.b64decode(encoded) if kind == "secret" else encoded)
        unpacking = zlib.decompressobj(wbits=31)
        content = unpacking.decompress(packed, _LARGEST)
        body: Body = parse_json(content)
        manifest = body["manifest"]
    except (binascii.Error, zlib.error, ValueError, KeyError, TypeError):
        manifest = None
    if not isinstance(manifest, str):
        hint = "`--crds` removes the definitions, and needs no record"
        raise ReleaseError(f"Helm's record {name} cannot be read", None, hint)
    return body


def _written(body: Body, kind: str) -> str:
    packed = gzip.compress(json.dumps(body, separators=(",", ":")).encode(), mtime=0)
    encoded = base64.b64encode(packed)
    return (base64.b64encode(encoded) if kind == "secret" else encoded).decode()
