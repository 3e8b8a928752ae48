"""Libraries of policies as Kyverno reads them, for tests; `{name}` in a text is the policy's."""

from collections.abc import Mapping
from pathlib import Path

from chartkit.network.downloads.lockfile import (
    LOCK_FILE,
    Lock,
    Origin,
    SourceKind,
    digest,
    lock_text,
)
from tests.data import beside

_TEXTS = beside(__file__)
CLUSTER_POLICY = _TEXTS["cluster-policy"]
RULES = _TEXTS["rules"]
VALIDATING = _TEXTS["validating"]
NAMESPACED = CLUSTER_POLICY.replace("kind: ClusterPolicy", "kind: Policy").replace(
    "  name: {name}", "  name: {name}\n  namespace: theirs"
)
CLEANUP = _TEXTS["cleanup"]
DELETING = _TEXTS["deleting"]
ADMISSION = _TEXTS["admission"]
GUARDED = _TEXTS["guarded"]


def vendored(project: Path, library: str, policies: Mapping[str, str]) -> Path:
    """A vendored library: a folder for each reference, the policy of its last part; gives its
    folder."""
    root = project / "vendor" / library
    for reference, text in policies.items():
        folder = root / reference
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.yaml").write_text(text.format(name=folder.name))
    files = [path for path in root.rglob("*") if path.is_file() and path.name != LOCK_FILE]
    digests = {path.relative_to(root).as_posix(): digest(path.read_bytes()) for path in files}
    origin = Origin(SourceKind.FOLDER, "/theirs", "", "1")
    (root / LOCK_FILE).write_text(lock_text(Lock(origin, digests)))
    return root
