"""Makes Helm keep the custom resource definitions of a release that it is about to remove.

Helm asks the manifest that it stored, not the objects, what to keep (`helm.sh/resource-policy`):
the stored record is changed, as `helm` itself has no word for that.
"""

from __future__ import annotations

from typing import Final

from chartkit.documents.yaml_dump import dump_documents
from chartkit.install.records import manifest_objects, packed, stored
from chartkit.install.releases import driver, record_name
from chartkit.network.cluster.client import Cluster

_POLICY: Final = "helm.sh/resource-policy"


def keep_definitions(cluster: Cluster, namespace: str, release: str, revision: int) -> int:
    """Mark the CRDs in a release's stored manifest as kept; returns their number.

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
