"""Changes of fields, of generated objects, and of the form of a policy."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.model import Body, Resource, path_text
from chartkit.render.compare.fields import ABSENT, FieldChange, compare, differences
from chartkit.render.compare.policy_risks import DELETED, LEFT
from chartkit.render.compare.report import comparison, report
from chartkit.render.compare.risk import Level, risk
from chartkit.render.environment import Side
from tests.command_reports import in_format
from tests.objects import api_object

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "key", "x", "y"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def said(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.before, each.after) for each in differences(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": None}, {}, [("a", None, ABSENT)]),
        ({}, {"a": None}, [("a", ABSENT, None)]),
        ({"a": {"b.c/d": 1}}, {"a": {"b.c/d": 2}}, [("a[b.c/d]", 1, 2)]),
        ([1, 2, 3], [1, 3], [("[1]", 2, ABSENT)]),
        ([1, 3], [1, 2, 3], [("[1]", ABSENT, 2)]),
        ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 3}], [("[1].x", 2, 3)]),
        (
            [{"name": "a", "v": 1}, {"name": "b"}],
            [{"name": "c"}, {"name": "a", "v": 2}],
            [(".a.v", 1, 2), (".b", {"name": "b"}, ABSENT), (".c", ABSENT, {"name": "c"})],
        ),
        (
            [{"name": "a"}, {"name": "b"}],
            [{"name": "b"}, {"name": "a"}],
            [("", ["a", "b"], ["b", "a"])],
        ),
        ([{"name": "a"}, {"name": "a"}], [{"name": "a"}], [("[1]", {"name": "a"}, ABSENT)]),
    ],
)
def test_fields_differences(before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    found = [(name.removeprefix("."), old, new) for name, old, new in said(before, after)]
    assert found == [(name.removeprefix("."), old, new) for name, old, new in expected]


@given(VALUES, VALUES)
def test_there_is_a_difference_where_two_values_differ(before: Any, after: Any) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (not list(differences(before, after))) == same


@given(VALUES)
def test_none_where_they_are_equal(value: Any) -> None:
    assert list(differences(value, json.loads(json.dumps(value)))) == []


def test_path_text() -> None:
    assert path_text(("spec", "rules", "check", 0, "a.b/c")) == "spec.rules.check[0][a.b/c]"
    assert FieldChange(("spec", "replicas"), 1, 2).name == "spec.replicas"


def _cluster_policy(*rules: str, synchronize: bool = True, orphan: bool = False) -> Body:
    generate = {"kind": "ConfigMap", "synchronize": synchronize}
    if orphan:
        generate["orphanDownstreamOnPolicyDelete"] = True
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [{"name": name, "generate": dict(generate)} for name in rules]},
    }


def _generating_policy(synchronize: bool = True, orphan: bool = False) -> Body:
    switches = {"synchronize": synchronize, "orphanDownstreamOnPolicyDelete": orphan}
    evaluation = {name: {"enabled": value} for name, value in switches.items()}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "GeneratingPolicy",
        "metadata": {"name": "p"},
        "spec": {"generate": [{"expression": "x"}], "evaluation": evaluation},
    }


_CASES: tuple[tuple[Body, Body | None, str], ...] = (
    (_cluster_policy("a"), None, DELETED),
    (_cluster_policy("a", orphan=True), None, LEFT),
    (_cluster_policy("a", synchronize=False), None, ""),
    (_cluster_policy("a"), _generating_policy(), DELETED),
    (_cluster_policy("a", orphan=True), _generating_policy(), LEFT),
    (_generating_policy(), _cluster_policy("a"), DELETED),
    (_generating_policy(orphan=True), _cluster_policy("a"), LEFT),
    (_generating_policy(synchronize=False), None, ""),
    (_cluster_policy("a", "b"), _cluster_policy("a"), DELETED),
    (_cluster_policy("a"), _cluster_policy("a", "b"), ""),
)


@pytest.mark.parametrize(("before", "after", "reason"), _CASES)
def test_a_generator_that_goes(before: Body, after: Body | None, reason: str) -> None:
    new = [] if after is None else [Resource(after)]
    found = [risk(change) for change in compare([Resource(before)], new)]
    said = {each.reason for each in found if each.reason}
    assert any(reason and reason in each for each in said) is bool(reason)
    assert not any(other in each for each in said for other in {DELETED, LEFT} - {reason})
    if reason == DELETED:
        assert any(each.level is Level.HIGH for each in found)


def legacy(name: str = "a", action: str = "Enforce") -> Resource:
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"failureAction": action, "message": "m", "pattern": {"spec": {"x": "y"}}},
    }
    return _object("kyverno.io/v1", "ClusterPolicy", name, {"rules": [rule]})


def in_cel(name: str = "a", action: str = "Deny") -> Resource:
    spec = {"validationActions": [action], "validations": [{"expression": "true"}]}
    return _object("policies.kyverno.io/v1", "ValidatingPolicy", name, spec)


def of_kubernetes(name: str = "a", action: str = "Deny") -> tuple[Resource, Resource]:
    group = "admissionregistration.k8s.io/v1"
    spec = {"policyName": name, "validationActions": [action]}
    return (
        _object(group, "ValidatingAdmissionPolicy", name, {"validations": []}),
        _object(group, "ValidatingAdmissionPolicyBinding", name, spec),
    )


def _object(version: str, kind: str, name: str, spec: Body) -> Resource:
    return Resource({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})


def text(before: Any, after: Any) -> list[str]:
    sides = (Side(name, tuple(each)) for name, each in (("old", before), ("new", after)))
    return in_format(report([comparison(*sides)]), "text").splitlines()


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ([in_cel()], "low     ~ ValidatingPolicy a: ClusterPolicy becomes ValidatingPolicy"),
        (
            [in_cel(), in_cel("a-ephemeral"), in_cel("a-audit", "Audit")],
            "low     ~ ValidatingPolicy a: ClusterPolicy becomes ValidatingPolicy",
        ),
        (
            [*of_kubernetes(), *of_kubernetes("a-controllers")],
            "medium  "
            "~ ValidatingAdmissionPolicy a: ClusterPolicy becomes ValidatingAdmissionPolicy",
        ),
    ],
)
def test_a_form_is_one_line(after: list[Resource], line: str) -> None:
    head, headline, *lines = text([legacy()], after)
    assert head.startswith("old → new: 1 changed")
    assert headline == "1 policy changes its form, and refuses as before: a"
    assert lines == [line]


def test_what_reports_only_is_the_headline() -> None:
    before, after = [legacy(), legacy("b")], [in_cel(action="Audit"), legacy("b", "Audit")]
    head, headline, *_ = text(before, after)
    assert head.startswith("old → new: 2 changed")
    assert headline == "2 policies report only what they refused before: a, b"
    _, headline, *_ = text(after, before)
    assert headline == "2 policies refuse what they only reported before: a, b"


def test_another_policy_of_another_name_is_no_form() -> None:
    assert len(text([legacy()], [in_cel("b")])) == 3


def test_an_exception_and_a_filter_are_said() -> None:
    exception = _object(
        "kyverno.io/v2",
        "PolicyException",
        "e",
        {"exceptions": [{"policyName": "a", "ruleNames": ["r"]}], "match": {"any": []}},
    )
    (_, line) = text([], [exception])
    assert line == "medium  + PolicyException e: exempts objects from a"
    relabelled = Resource(exception.body | {"metadata": {"name": "e", "labels": {"a": "b"}}})
    assert "exempts" not in "".join(text([exception], [relabelled]))
    filters = [
        Resource(api_object("v1", "ConfigMap", "kyverno", data={"resourceFilters": each}))
        for each in ("[Event,*,*]", "[Event,*,*] [Pod,shop,*]")
    ]
    assert "Kyverno is not sent [Pod,shop,*] any more" in text(filters[:1], filters[1:])[1]
    assert "any more" not in text(filters[1:], filters[:1])[1]
