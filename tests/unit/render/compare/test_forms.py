"""A policy that comes in another form is one change, which says whether it refuses as before."""

from typing import Any

import pytest

from chartkit.model import Body, Resource
from chartkit.render.compare.report import comparison, report
from chartkit.render.environment import Side
from tests.command_reports import in_format
from tests.objects import api_object


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
