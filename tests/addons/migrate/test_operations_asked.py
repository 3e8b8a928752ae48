"""Deletions, which are judged or not, and updates of objects that violate already."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from chartkit.addons.migrate.admission import Target
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.differences import DELETIONS
from chartkit.addons.migrate.files.report import report
from chartkit.addons.migrate.files.run import Migration, proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.model import Location, Resource
from tests.addons.migrate.conversions import converted, deny, policy
from tests.addons.migrate.files.migrations import migrated
from tests.command_reports import in_format

_DENY: Final = deny("{{ request.object.data.a || '' }}", "Equals", "b")
_CEL: Final = "validate: {message: m, cel: {expressions: [{expression: \"object.data.a != 'b'\"}]}}"
_PATTERN: Final = "validate: {message: m, pattern: {data: {a: '?*'}}}"
_WRITES: Final = ["CREATE", "UPDATE"]


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize(
    ("rule", "kind", "drops", "operations", "changes"),
    [
        (_DENY, "ConfigMap", True, [*_WRITES, "DELETE"], ()),
        (_CEL, "ConfigMap", True, [*_WRITES, "DELETE"], ()),
        (_PATTERN, "ConfigMap", False, _WRITES, ()),
        # What is extended to controllers has no exact form.
        (
            deny("{{ request.object.metadata.name }}", "Equals", "b"),
            "Pod",
            True,
            _WRITES,
            (DELETIONS,),
        ),
    ],
)
def test_deletions_are_judged_on_demand(
    rule: str, kind: str, drops: bool, operations: list[str], changes: tuple[str, ...], keeps: bool
) -> None:
    legacy = Resource(policy(rule, kind), Location("policy.yaml"))
    conversion = Batch([legacy], Target(keeps_deletions=keeps)).convert(legacy)
    (outcome,) = conversion.outcomes
    asked = conversion.documents[0]["spec"]["matchConstraints"]["resourceRules"][0]["operations"]
    assert outcome.drops_deletions is (drops and not keeps)
    assert outcome.changes == (changes if keeps else ())
    assert asked == (operations if keeps else _WRITES)


def _migrated(folder: Path, rule: str, *objects: Any, **options: Any) -> Migration:
    file, given = folder / "policy.yaml", folder / "objects"
    file.write_text(json.dumps(policy(rule)))
    given.mkdir(exist_ok=True)
    for number, data in enumerate(objects):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}}
        (given / f"{number}.yaml").write_text(json.dumps({**body, "data": data}))
    paths = (str(given),) if objects else ()
    return migrated(file, prove=True, objects=paths, proof_seconds=0.3, **options)


@pytest.mark.parametrize("deletions", ["keep", "drop"])
def test_the_proof_knows_whether_deletions_are_kept(tmp_path: Path, deletions: str) -> None:
    found = _migrated(tmp_path, _DENY, deletions=deletions)
    (one,) = found.objects
    assert one.proof is not None
    assert one.proof.equal
    drops = deletions == "drop"
    assert (DELETIONS in one.proof.named, one.outcomes[0].changes) == (drops, ())
    assert ("deletions: 1 rule, which" in in_format(report(found), "text")) is drops
    assert ("DELETE" in found.text) is not drops


_ENFORCED: Final = _PATTERN.replace("message: m", "failureAction: Enforce, message: m")
_NEVER: Final = _ENFORCED.replace("message: m", "allowExistingViolations: false, message: m")


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (_ENFORCED, "updates of 2 of 3 known objects, which violate already, are refused: "),
        (_NEVER, ""),
        (_PATTERN, ""),
    ],
)
def test_objects_whose_updates_are_refused_are_counted(
    tmp_path: Path, rule: str, changes: str
) -> None:
    found = _migrated(tmp_path, rule, {"a": "x"}, {"b": "x"}, {})
    (outcome,) = found.objects[0].outcomes
    assert outcome.converted
    assert outcome.refuses_updates is bool(changes)
    assert "".join(outcome.changes).startswith(changes)
    assert bool(outcome.changes) is bool(changes)
    assert ("updates: 1 rule let" in in_format(report(found), "text")) is bool(changes)


_GROUPS: Final[Any] = {
    "name": "kyverno.io",
    "versions": [{"groupVersion": "kyverno.io/v1", "version": "v1"}],
    "preferredVersion": {"groupVersion": "kyverno.io/v1", "version": "v1"},
}


def _resources(version: str, kind: str, name: str, namespaced: bool) -> Any:
    one = {"name": name, "kind": kind, "namespaced": namespaced, "verbs": ["list"]}
    return {"kind": "APIResourceList", "groupVersion": version, "resources": [one]}


def _recording(folder: Path, objects: Sequence[Any] | None) -> Path:
    """Write a recording of a cluster with one policy and some ConfigMaps, None for none read."""
    answers = {
        "/apis": {"kind": "APIGroupList", "groups": [_GROUPS]},
        "/api/v1": _resources("v1", "ConfigMap", "configmaps", namespaced=True),
        "/apis/kyverno.io/v1": _resources(
            "kyverno.io/v1", "ClusterPolicy", "clusterpolicies", False
        ),
        "/apis/kyverno.io/v1/clusterpolicies?limit=500": {
            "kind": "ClusterPolicyList",
            "items": [policy(_ENFORCED)],
        },
    }
    if objects is not None:
        items = [
            {"metadata": {"name": f"c-{number}", "namespace": "default"}, "data": data}
            for number, data in enumerate(objects)
        ]
        answers["/api/v1/configmaps?limit=500"] = {"kind": "ConfigMapList", "items": items}
    folder.mkdir()
    files = {path: f"{number:06}.json" for number, path in enumerate(answers, 1)}
    for path, body in answers.items():
        (folder / files[path]).write_text(json.dumps({"path": path, "body": body}))
    recording = {"format": 1, "namespace": "", "answers": files}
    (folder / "recording.json").write_text(json.dumps(recording))
    return folder


@pytest.mark.parametrize(("objects", "count"), [([{"a": "x"}, {}], "1 of 2"), (None, "")])
def test_objects_of_a_recording_with_policies_are_known(
    tmp_path: Path, objects: Sequence[Any] | None, count: str
) -> None:
    found = migrated(_recording(tmp_path / "prd", objects), prove=True, proof_seconds=0.3)
    (outcome,) = found.objects[0].outcomes
    assert [each.split()[2:5] for each in outcome.changes] == ([count.split()] if count else [])


@pytest.mark.parametrize(
    ("kind", "operations"),
    [("Deployment/scale", _WRITES), ("Pod/exec", ["CONNECT"]), ("Pod/eviction", _WRITES)],
)
def test_rules_about_subresources_are_proved(kind: str, operations: list[str]) -> None:
    body = policy(deny("{{ request.namespace }}", "Equals", "prod"), kind)
    body["spec"]["validationFailureAction"] = "Enforce"
    legacy = Resource(body, Location("policy.yaml"))
    conversion = Batch([legacy]).convert(legacy)
    (new,) = conversion.documents
    (rule,) = new["spec"]["matchConstraints"]["resourceRules"]
    assert rule["operations"] == operations
    options = replace(proof_options(conversion, 30), most_requests=200)
    assert prove(legacy, [Resource(new)], options=options).equal
    other = json.loads(json.dumps(new).replace("'prod'", "'dev'"))
    assert not prove(legacy, [Resource(other)], options=options).equal


def test_a_rule_of_no_operation_stays() -> None:
    stated = "{key: '{{ request.operation }}', operator: Equals, value: CONNECT}"
    rule = f"preconditions: {{all: [{stated}]}}\nvalidate: {{message: m, deny: {{}}}}"
    assert "no operation" in converted(rule).reason
