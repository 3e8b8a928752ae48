"""Patches of kustomize: those of settings follow their policies, the others are named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from chartkit.addons.migrate.files.run import write
from tests.addons.migrate.files.migrations import INVENTORY, OPTIONS, migrated
from tests.data import beside

_TEXTS = beside(__file__)
_BASE = _TEXTS["base"]
_TEAM = "apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: team"
_ENFORCE = "{op: add, path: /spec/validationFailureAction, value: Enforce}"
_NEW = {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy"}
_DENY = {**_NEW, "metadata": {"name": "team"}, "spec": {"validationActions": ["Deny"]}}
_DENIED = [{"op": "replace", "path": "/spec/validationActions", "value": ["Deny"]}]
_VALIDATING = {"group": "policies.kyverno.io", "kind": "ValidatingPolicy"}


def _written(folder: Path, entry: str, base: str = _BASE) -> tuple[str, list[str]]:
    """Return the kustomization after a migration in place, and why patches stay."""
    (folder / "policies.yaml").write_text(base)
    (folder / "kustomization.yaml").write_text(f"resources: [policies.yaml]\n{entry}\n")
    found = migrated(folder, write=True)
    assert not found.inventory.faults
    inventory = replace(INVENTORY, paths=(str(folder),))
    write(found, replace(OPTIONS, inventory=inventory, write=True))
    reasons = [each.what.partition("do not get: ")[2] for each in found.mentions]
    return (folder / "kustomization.yaml").read_text(), reasons


@pytest.mark.parametrize(
    ("entry", "target", "patches"),
    [
        (f"- patch: '{{{_TEAM}}}, spec: {{validationFailureAction: Enforce}}}}'", None, [_DENY]),
        (
            f"- target: {{kind: ClusterPolicy, name: team, version: v1}}\n  patch: '[{_ENFORCE}]'",
            {**_VALIDATING, "name": "team"},
            [_DENIED],
        ),
        (f"- target: {{kind: ClusterPolicy}}\n  patch: '[{_ENFORCE}]'", _VALIDATING, [_DENIED]),
        (
            "- target: {kind: ClusterPolicy, name: owner}\n"
            "  patch: '[{op: add, path: /spec/failurePolicy, value: Ignore}]'",
            {**_VALIDATING, "kind": "ValidatingPolicy|MutatingPolicy", "name": "owner"},
            [[{"op": "add", "path": "/spec/failurePolicy", "value": "Ignore"}]],
        ),
        (
            "- target: {kind: ClusterPolicy, name: team}\n"
            "  patch: '[{op: add, path: /spec/rules/0/exclude, "
            "value: {any: [{resources: {namespaces: [infra]}}]}}]'",
            {**_VALIDATING, "name": "team"},
            [
                [
                    {
                        "op": "add",
                        "path": "/spec/matchConditions",
                        "value": [
                            {"name": "exclude", "expression": "request.namespace != 'infra'"}
                        ],
                    }
                ]
            ],
        ),
        (
            f"- patch: '{{{_TEAM}, annotations: {{a: b}}}}, spec: {{background: false, "
            "webhookConfiguration: {timeoutSeconds: 5}}}'",
            None,
            [
                {
                    **_NEW,
                    "metadata": {"name": "team", "annotations": {"a": "b"}},
                    "spec": {
                        "webhookConfiguration": {"timeoutSeconds": 5},
                        "evaluation": {"background": {"enabled": False}},
                    },
                }
            ],
        ),
        (
            "- target: {kind: ClusterPolicy, name: team}\n"
            "  patch: '[{op: replace, path: /spec/rules/0/validate/message, value: x}]'",
            {"group": "policies.kyverno.io", "kind": "ValidatingPolicy", "name": "team"},
            [
                [
                    {
                        "op": "replace",
                        "path": "/spec/validations",
                        "value": [
                            {
                                "message": "x",
                                "expression": "variables.metadata.?labels.?team.orValue('') != ''",
                            }
                        ],
                    }
                ]
            ],
        ),
    ],
)
def test_a_patch_follows(tmp_path: Path, entry: str, target: object, patches: list[object]) -> None:
    text, reasons = _written(tmp_path, f"# ours\npatches:\n{entry}")
    (new,) = yaml.safe_load(text)["patches"]
    assert reasons == []
    assert new.get("target") == target
    assert list(yaml.safe_load_all(new["patch"])) == patches
    assert "# ours" in text


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("patches: [{target: {kind: ClusterPolicy}, path: gone.yaml}]", "its file is not among"),
        ("patches: [{target: {labelSelector: a=b}, patch: '[]'}]", "its target selects by labels"),
        (f"patches: [{{target: {{name: team}}, patch: '[{_ENFORCE}]'}}]", "it is for ConfigMap/te"),
        (
            f"bases: [../gone]\npatches: [{{target: {{kind: .*Policy}}, patch: '[{_ENFORCE}]'}}]",
            "its kustomization has resources that are not among the PATHs",
        ),
        (
            f"components: [a]\npatches: [{{target: {{kind: .*Policy}}, patch: '[{_ENFORCE}]'}}]",
            "its kustomization has a component that is not among the PATHs, or that it has already",
        ),
        (
            "patches: [{target: {kind: ClusterPolicy, name: team}, patch: "
            "'[{op: remove, path: /spec/background}]'}]",
            "/spec/background is not in the policy",
        ),
        (
            "patches: [{target: {kind: ClusterPolicy, name: team}, patch: "
            "'[{op: add, path: /spec/background, value: true}]'}]",
            "it changes nothing of the new policies",
        ),
        (
            f"patches: [{{patch: '{{{_TEAM}}}, spec: {{$patch: replace}}}}'}}]",
            "the directive $patch",
        ),
        (
            f"patches: [{{patch: '{{{_TEAM}}}, spec: {{validationFailureActionOverrides: "
            "[{action: Enforce, namespaces: [a]}]}}'}]",
            "the patched policy becomes other policies",
        ),
        (
            f"patchesStrategicMerge:\n  - |-\n    {{{_TEAM}, labels: {{a: null}}}}}}",
            "kustomize writes null as a text",
        ),
    ],
)
def test_a_patch_that_cannot_follow_says_why(tmp_path: Path, entry: str, reason: str) -> None:
    text, reasons = _written(tmp_path, entry)
    assert [each[: len(reason)] for each in reasons] == [reason]
    assert entry in text


def test_patches_of_an_overlay_follow_those_of_its_base(tmp_path: Path) -> None:
    """Names that the overlay gives select, too; a file of several policies has several patches."""
    overlay = tmp_path / "prd"
    overlay.mkdir()
    (overlay / "owner.yaml").write_text(
        "# for now\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: owner}\n"
        "spec: {failurePolicy: Ignore}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: team} # stays\n"
    )
    (overlay / "ops.json").write_text(
        json.dumps([{"op": "remove", "path": "/spec/background"}]) + "\n"
    )
    (overlay / "kustomization.yaml").write_text(
        "resources: [..]\nnamePrefix: prd-\npatches: [{path: owner.yaml}]\npatchesJson6902:\n"
        "- {target: {kind: ClusterPolicy, name: prd-team}, path: ops.json}\n"
    )
    off = f"patches: [{{patch: '{{{_TEAM}}}, spec: {{background: false}}}}'}}]"
    _, reasons = _written(tmp_path, off)
    assert reasons == []
    ignore = {"spec": {"failurePolicy": "Ignore"}, "metadata": {"name": "owner"}}
    text = (overlay / "owner.yaml").read_text()
    assert list(yaml.safe_load_all(text)) == [
        {**_NEW, **ignore},
        {**_NEW, **ignore, "kind": "MutatingPolicy"},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "team"}},
    ]
    assert "# for now" in text
    assert "# stays" in text
    new = yaml.safe_load((overlay / "kustomization.yaml").read_text())
    assert new["patchesJson6902"][0]["target"] == {**_VALIDATING, "name": "team"}
    removed = [{"op": "remove", "path": "/spec/evaluation"}]
    assert json.loads((overlay / "ops.json").read_text()) == removed


_COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"


def _with_component(folder: Path, base: str) -> list[Path]:
    """Write two overlays with one component, the second about a base with a patch; return the
    kustomizations of the first and of the component."""
    patch = f"patches: [{{target: {{kind: ClusterPolicy}}, patch: '[{_ENFORCE}]'}}]"
    files = {
        "base": f"resources: [../policies.yaml]\n{base}",
        "enforce": f"{_COMPONENT}{patch}",
        "dev": "resources: [../policies.yaml]\ncomponents: [../enforce]\nnamePrefix: dev-\n"
        "patches: [{target: {kind: ClusterPolicy, name: team}, patch: "
        "'[{op: add, path: /spec/failurePolicy, value: Ignore}]'}]",
        "prd": "resources: [../base]\ncomponents: [../enforce]",
    }
    (folder / "policies.yaml").write_text(_BASE)
    for name, text in files.items():
        (folder / name).mkdir()
        (folder / name / "kustomization.yaml").write_text(f"{text}\n")
    found = migrated(folder, write=True)
    inventory = replace(INVENTORY, paths=(str(folder),))
    write(found, replace(OPTIONS, inventory=inventory, write=True))
    return [folder / name / "kustomization.yaml" for name in ("dev", "enforce")]


def test_patches_of_a_component_follow(tmp_path: Path) -> None:
    dev, enforce = _with_component(tmp_path, "")
    (entry,) = yaml.safe_load(enforce.read_text())["patches"]
    assert (entry["target"], yaml.safe_load(entry["patch"])) == (_VALIDATING, _DENIED)
    (entry,) = yaml.safe_load(dev.read_text())["patches"]
    assert entry["target"] == {**_VALIDATING, "name": "team"}
    assert yaml.safe_load(entry["patch"])[0]["value"] == "Ignore"


def test_a_component_that_would_become_two_stays(tmp_path: Path) -> None:
    patch = f"patches: [{{target: {{kind: ClusterPolicy}}, patch: '[{_ENFORCE}]'}}]"
    for file in _with_component(tmp_path, patch):
        assert yaml.safe_load(file.read_text())["patches"][0]["target"]["kind"] == "ClusterPolicy"


def test_a_file_that_would_become_two_stays(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(f"[{_ENFORCE}]\n")
    entry = "- {target: {kind: ClusterPolicy, name: %s}, path: ops.yaml}\n"
    base = _BASE.replace(
        "metadata: {name: owner}\nspec:\n",
        "metadata: {name: owner}\nspec:\n  validationFailureAction: Enforce\n",
    )
    text, reasons = _written(tmp_path, "patches:\n" + entry % "team" + entry % "owner", base)
    assert len(reasons) == 2
    assert _ENFORCE in (tmp_path / "ops.yaml").read_text()
    assert text.count("kind: ClusterPolicy") == 2


def test_builds_that_multiply_their_objects_or_stand_on_many_others_are_bounded(
    tmp_path: Path,
) -> None:
    below = tmp_path / "base"
    below.mkdir()
    (below / "policies.yaml").write_text(_BASE)
    (below / "kustomization.yaml").write_text("resources: [policies.yaml]\n")
    for number in range(400, 0, -1):
        folder = tmp_path / f"{number:03}"
        folder.mkdir()
        taken = f"../{below.name}"
        (folder / "kustomization.yaml").write_text(f"resources: [{taken}, {taken}, {taken}]\n")
        below = folder
    (below / "kustomization.yaml").write_text(
        f"resources: [../{number + 1:03}]\n"
        f"patches: [{{target: {{kind: ClusterPolicy}}, patch: '[{_ENFORCE}]'}}]\n"
    )
    found = migrated(tmp_path)
    assert not found.inventory.faults
    assert not found.patches.files


def test_a_step_of_many_digits_is_not_in_the_policy(tmp_path: Path) -> None:
    operation = f"{{op: replace, path: /spec/rules/{'1' * 5000}/name, value: x}}"
    entry = f"patches:\n- target: {{kind: ClusterPolicy}}\n  patch: '[{operation}]'"
    _, (reason,) = _written(tmp_path, entry)
    assert reason.endswith("is not in the policy")
