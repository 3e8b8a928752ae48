"""What decided the result of a policy in CEL, and that another value there leads to another."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from chartkit.documents.reader import read_text
from chartkit.engine.cleanup.deleting import DeletingPolicy
from chartkit.engine.policies import compile_any, read_exceptions
from chartkit.engine.ports.world import OFFLINE
from chartkit.engine.request import Request, Run
from chartkit.engine.why import Decision, RuleDecision
from chartkit.model import Body, Json, Resource, pointer_steps

_DATA: Final = yaml.safe_load(Path(__file__).with_name("why.yaml").read_text())
_BASE: Final = _DATA["base"]
_CASES: Final = [pytest.param(case, id=case.get("id", "pass")) for case in _DATA["cases"]]
Case = dict[str, Any]


def _policy(case: Case, others: Mapping[str, str]) -> str:
    text: str = _BASE["policy"]
    for old, new in [*(case.get("policy") or {}).items(), *others.items()]:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def _object(case: Case, changes: Mapping[str, Json]) -> Resource:
    body = deepcopy(case.get("object", _BASE["object"]))
    for pointer, value in [*(case.get("given") or {}).items(), *changes.items()]:
        *steps, last = pointer_steps(pointer)
        here = body
        for step in steps:
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        here[last] = value
        if value is None:
            del here[last]
    return Resource(body)


def _exceptions(case: Case) -> list[Resource]:
    bodies: list[Body] = [
        {
            "apiVersion": "policies.kyverno.io/v1",
            "kind": "PolicyException",
            "metadata": {"name": f"ex{at}", "namespace": "shop"},
            "spec": {
                "policyRefs": [{"name": "demo", "kind": "ValidatingPolicy"}],
                "matchConditions": one["conditions"],
            },
        }
        for at, one in enumerate(case.get("exceptions") or ())
    ]
    if "binding" in case:
        kind = "ValidatingAdmissionPolicyBinding"
        spec = {"policyName": "demo", "validationActions": ["Deny"], **case["binding"]}
        version, metadata = "admissionregistration.k8s.io/v1", {"name": "bind"}
        bodies.append({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    return [Resource(body) for body in bodies]


def decided(
    case: Case, changes: Mapping[str, Json] = {}, others: Mapping[str, str] = {}
) -> tuple[RuleDecision, str]:
    """Return the one decision of a case, and the text of its policy."""
    text = _policy(case, others)
    (document,) = read_text(text, "policy.yaml")
    found = _exceptions(case)
    attachments = read_exceptions(found).with_bindings(found)
    policy = compile_any(Resource(document.body, document.location), attachments)
    request = Request(_object(case, changes), namespace_labels=case.get("namespace") or {})
    if isinstance(policy, DeletingPolicy):
        result, decision = policy.why(request)
        assert result == policy.evaluate(request)
        return decision, text
    (phase,) = policy.phases  # type: ignore[union-attr]
    results: list[Any] = []
    plain: list[Any] = []
    (decision,) = policy.why_phase(Run(request, OFFLINE), phase, results)  # type: ignore[union-attr]
    policy.run_phase(Run(request, OFFLINE), phase, plain)  # type: ignore[union-attr]
    assert results == plain
    return decision, text


def _sentence(decision: Decision) -> str:
    return f"{decision.asked} {decision.text}"


def _at(decision: Decision, text: str) -> str:
    """Return the text of the policy at a decision's location."""
    location = decision.location
    assert location is not None
    return text.splitlines()[location.line - 1][location.column - 1 :]


@pytest.mark.parametrize("case", _CASES)
def test_what_decides(case: Case) -> None:
    found, text = decided(case)
    decision = found.decision
    assert _sentence(decision).startswith(case["why"])
    assert (found.status, found.rule) == (case.get("status", "fail"), case.get("form", ""))
    assert decision.pointer == case.get("field", decision.pointer)
    assert _at(decision, text).startswith(case.get("at", ""))
    for part in case.get("parts") or ():
        wanted, _, at = part.partition(" @ ")
        parts = [one for one in decision.walk() if _sentence(one).startswith(wanted)]
        assert parts, "\n".join(map(_sentence, decision.walk()))
        assert not at or _at(parts[0], text).startswith(at)


@pytest.mark.parametrize("case", [case for case in _CASES if "then" in case.values[0]])  # type: ignore[operator]
def test_another_value_decides_otherwise(case: Case) -> None:
    found, _text = decided(case, case.get("change") or {}, case.get("other") or {})
    assert _sentence(found.decision).startswith(case["then"])


@pytest.mark.parametrize("field", ["object.data.password", "object.metadata.annotations.applied"])
def test_secrets_are_not_shown(field: str) -> None:
    policy = {"resources: [pods]": "resources: [secrets]"}
    policy["object.spec.hostNetwork == false"] = f"{field}.size() > 9"
    metadata = {"name": "web", "annotations": {"applied": "aHVudGVy"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    case = {"policy": policy, "object": {**secret, "data": {"password": "aHVudGVy"}}}
    rule, _text = decided(case)
    assert f"{field} is hidden" in [part.text for part in rule.decision.walk()]
    assert "aHVudGVy" not in str(rule.decision)


def test_locations_are_left_out_where_there_is_no_file() -> None:
    case = _DATA["cases"][1]
    (document,) = read_text(_policy(case, {}), "policy.yaml")
    policy = compile_any(Resource(document.body, replace(document.location, places=None)))
    results: list[Any] = []
    run = Run(Request(_object(case, {})), OFFLINE)
    (phase,) = policy.phases  # type: ignore[union-attr]
    (found,) = policy.why_phase(run, phase, results)  # type: ignore[union-attr]
    assert found.decision.pointer == "/spec/containers/1/resources"
