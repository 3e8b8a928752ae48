"""Helm's own records of a release's revisions, in Secrets or ConfigMaps."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from typing import Final

from chartkit.addons.operate.install.releases import Status, driver, record_name
from chartkit.documents.json_text import parse_json
from chartkit.documents.reader import read_text, resources
from chartkit.documents.yaml_dump import dump_documents
from chartkit.model import Body, Resource, mapping_at, text_of
from chartkit.network.cluster.client import Cluster
from chartkit.network.cluster.errors import ReleaseError

_LARGEST: Final = 64 * 1024 * 1024


def deployed_objects(
    cluster: Cluster, namespace: str, release: str, revision: int
) -> list[Resource]:
    """Return the objects of the newest revision before this one that Helm deployed; none where
    there is none, or its record is gone.

    Raises ReleaseError for a record that cannot be read.
    """
    kind = driver()
    for earlier in range(revision - 1, 0, -1):
        name = record_name(release, earlier)
        record = cluster.record(kind, namespace, name)
        labels = mapping_at(record, "metadata", "labels")
        if record is not None and labels.get("status") in (Status.DEPLOYED, Status.SUPERSEDED):
            return manifest_objects(stored(record, kind, name), name)
    return []


def manifest_objects(body: Body, name: str) -> list[Resource]:
    """Return the objects of a stored revision's manifest."""
    return resources(read_text(body["manifest"], name))


def stored(record: Body, kind: str, name: str) -> Body:
    """Return a revision as it is stored; kind: `secret` or `config_map`.

    Raises ReleaseError for a record that cannot be read.
    """
    encoded = text_of(mapping_at(record, "data").get("release"))
    try:
        packed = base64.b64decode(base64.b64decode(encoded) if kind == "secret" else encoded)
        unpacking = zlib.decompressobj(wbits=31)
        content = unpacking.decompress(packed, _LARGEST)
        body: Body = parse_json(content)
        manifest = body["manifest"]
    except (binascii.Error, zlib.error, ValueError, KeyError, TypeError):
        manifest = None
    if not isinstance(manifest, str):
        hint = "`chartkit uninstall --crds` removes the definitions, and needs no record"
        raise ReleaseError(f"Helm's record {name} cannot be read", None, hint)
    return body


def packed(body: Body, kind: str) -> str:
    """Return a revision as Helm stores it."""
    content = gzip.compress(json.dumps(body, separators=(",", ":")).encode(), mtime=0)
    encoded = base64.b64encode(content)
    return (base64.b64encode(encoded) if kind == "secret" else encoded).decode()


_POLICY: Final = "helm.sh/resource-policy"


def keep_definitions(cluster: Cluster, namespace: str, release: str, revision: int) -> int:
    """Mark the CRDs in a release's stored manifest as kept; returns their number. Helm asks the
    manifest that it stored, not the objects, what to keep, and has no option for that.

    Raises ReleaseError for a record that cannot be read.
    """
    name, kind = record_name(release, revision), driver()
    record = cluster.record(kind, namespace, name)
    if record is None:
        return 0
    body = stored(record, kind, name)
    bodies = [each.body for each in manifest_objects(body, name)]
    definitions = [each for each in bodies if each["kind"] == "CustomResourceDefinition"]
    for each in definitions:
        metadata = each["metadata"]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _POLICY: "keep"}
    if definitions:
        changed = {**body, "manifest": dump_documents(bodies)}
        patch = {"data": {"release": packed(changed, kind)}}
        cluster.patch_record(kind, namespace, name, patch)
    return len(definitions)
