"""Libraries of policies as Kyverno reads them, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CLUSTER_POLICY = """\
# Written elsewhere.
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
  annotations:
    policies.kyverno.io/title: Require {name}
    policies.kyverno.io/category: Ours
    policies.kyverno.io/severity: high
    policies.kyverno.io/subject: Pod, Service
    policies.kyverno.io/description: Every Pod says so.
spec:
  validationFailureAction: Enforce
  background: false
  rules:
    - name: check
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: "{{{{ request.object.metadata.name }}}} has no label"
        pattern:
          metadata:
            labels:
              a: "?*"
"""


def vendored(project: Path, library: str, policies: Mapping[str, str]) -> Path:
    """A vendored library: a folder for each reference, the policy of its last part; gives its
    folder. `{name}` in a text is that name."""
    root = project / "vendor" / library
    for reference, text in policies.items():
        folder = root / reference
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.yaml").write_text(text.format(name=folder.name))
    (root / "chartkit.lock").write_text(LOCK)
    return root


LOCK = (
    '{"version": 1, "source": {"kind": "folder", "location": "/theirs", "revision": "1"}, '
    '"files": {}}\n'
)
