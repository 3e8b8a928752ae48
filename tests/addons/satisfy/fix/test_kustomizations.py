"""Edits of what kustomize builds: patches in the kustomization, which are tried."""

import json
from pathlib import Path

import pytest

from chartkit.helm.kustomize.kustomization import program
from tests.addons.satisfy.fix.runs import fix, written

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: x\n"
BASE = "resources: [pod.yaml]\n"
OVERLAY = "# dev\nresources:\n  - ../base\nnamePrefix: dev-  # short\n"
PATCHED = f"""\
{OVERLAY}patches:
  - target:
      version: v1
      kind: Pod
      name: a
    patch: |
      - op: test
        path: /spec/containers/0/name
        value: x
      - op: add
        path: /spec/containers/0/securityContext
        value:
          allowPrivilegeEscalation: false
"""
pytestmark = pytest.mark.skipif(program() is None, reason="there is no kustomize or kubectl")


def build(folder: Path, overlay: str = OVERLAY, pod: str = POD) -> Path:
    """Write a base and an overlay; return the folder with both."""
    texts = {"base/kustomization": BASE, "base/pod": pod, "dev/kustomization": overlay}
    return written(folder, **{f"objects/{name}": text for name, text in texts.items()})


def test_a_patch_is_added_to_the_overlay(tmp_path: Path) -> None:
    objects = build(tmp_path)
    done = fix(objects)
    assert done.exit_code == 0, done.stdout
    assert (objects / "dev/kustomization.yaml").read_text() == PATCHED
    assert (objects / "base/pod.yaml").read_text() == POD
    assert f"{objects}/dev/kustomization.yaml: 1 violation of 1 object, 1 field" in done.stdout
    assert not fix(objects, "--diff").stdout


def test_a_patch_comes_after_those_that_are_there(tmp_path: Path) -> None:
    operation = '{"op": "add", "path": "/spec/hostNetwork", "value": true}'
    there = f"  - {{target: {{kind: Pod}}, patch: '[{operation}]'}}\n"
    objects = build(tmp_path, f"{OVERLAY}patches:\n{there}")
    assert fix(objects).exit_code == 0
    text = (objects / "dev/kustomization.yaml").read_text()
    assert text.startswith(f"{OVERLAY}patches:\n{there}  - target:\n")
    assert "      - op: replace\n        path: /spec/hostNetwork\n        value: false\n" in text


def test_a_patch_is_added_beside_very_many(tmp_path: Path) -> None:
    """Such a build annotates no origins."""
    labels = (
        {"op": "add", "path": "/metadata/labels", "value": {"at": str(at)}} for at in range(21)
    )
    there = "".join(
        f"  - {{target: {{kind: Pod}}, patch: '[{json.dumps(label)}]'}}\n" for label in labels
    )
    objects = build(tmp_path, f"{OVERLAY}patches:\n{there}")
    done = fix(objects)
    assert done.exit_code == 0, done.stdout
    text = (objects / "dev/kustomization.yaml").read_text()
    assert text.startswith(f"{OVERLAY}patches:\n{there}  - target:\n")
    assert not fix(objects, "--diff").stdout


def test_what_a_patch_does_not_change_is_listed(tmp_path: Path) -> None:
    """Replacements run after all patches."""
    overlay = (
        f"{OVERLAY}replacements:\n  - source: {{kind: Pod, fieldPath: metadata.annotations.host}}\n"
        "    targets: [{select: {kind: Pod}, fieldPaths: [spec.hostNetwork]}]\n"
    )
    noted = POD.replace("{name: a}", '{name: a, annotations: {host: "true"}}')
    pod = f"{noted}  hostNetwork: true\n"
    objects = build(tmp_path, overlay, pod)
    before = (objects / "dev/kustomization.yaml").read_text()
    done = fix(objects)
    assert not done.stderr
    assert "a patch in the kustomization does not change it as wanted" in done.stdout
    assert (objects / "dev/kustomization.yaml").read_text() == before


def test_plain_kustomizations_have_their_files_fixed(tmp_path: Path) -> None:
    objects = build(tmp_path, "resources: [../base]\n")
    assert fix(objects).exit_code == 0
    assert "allowPrivilegeEscalation: false" in (objects / "base/pod.yaml").read_text()
