"""Which Kyverno a policy needs."""

from collections.abc import Callable
from typing import Any

import pytest

from chartkit.kyverno.policy_fields import OLDEST, as_json, fields, minimum_version
from chartkit.kyverno.versions import Version
from chartkit.model import Body


def _policy(rule: Body | None = None, **spec: Any) -> Body:
    base: Body = {"name": "rule", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
    return {"kind": "ClusterPolicy", "spec": {**spec, "rules": [{**base, **(rule or {})}]}}


def _match(**resources: Any) -> Body:
    return {"match": {"all": [{"resources": {"kinds": ["Pod"], **resources}}]}}


@pytest.mark.parametrize(
    ("policy", "version", "path"),
    [
        (_policy(), "1.6", None),
        (_policy({"validate": {"message": "no", "pattern": {"spec": {}}}}), "1.6", None),
        (_policy({"context": [{"name": "x", "variable": {"value": 1}}]}), "1.7", "variable"),
        (_policy({"validate": {"podSecurity": {"level": "baseline"}}}), "1.8", "podSecurity"),
        (_policy(applyRules="One"), "1.8", "applyRules"),
        (_policy(_match(operations=["CREATE"])), "1.10", "operations"),
        (_policy({"exclude": {"resources": {"operations": ["DELETE"]}}}), "1.10", "operations"),
        (_policy(admission=False), "1.11", "admission"),
        (_policy({"validate": {"cel": {"expressions": []}}}), "1.11", "cel"),
        (_policy(webhookConfiguration={"matchConditions": []}), "1.12", "webhookConfiguration"),
        (_policy({"validate": {"failureAction": "Audit"}}), "1.13", "failureAction"),
        (_policy({"validate": {"allowExistingViolations": False}}), "1.13", "allowExisting"),
        (_policy(emitWarning=True), "1.13", "emitWarning"),
    ],
)
def test_minimum_version(policy: Body, version: str, path: str | None) -> None:
    found, use = minimum_version(policy)
    assert str(found) == version
    assert (use is None) is (path is None)
    if use and path:
        assert path in use.field.text


def test_the_newest_field_counts() -> None:
    policy = _policy({**_match(operations=["CREATE"]), "validate": {"assert": {}}})
    found, use = minimum_version(policy)
    assert found == Version(1, 13)
    assert use is not None
    assert use.path == ("spec", "rules", 0, "validate", "assert")


@pytest.mark.parametrize(
    "policy",
    [
        _policy(admission=True, emitWarning=False, applyRules="All"),
        _policy({"skipBackgroundRequests": True}),
        _policy({"skipBackgroundRequests": False}),
        _policy({"reportProperties": {"a": "b"}}),
        _policy({"validate": {"allowExistingViolations": True}}),
    ],
)
def test_what_an_older_version_may_go_without_does_not_count(policy: Body) -> None:
    assert minimum_version(policy) == (OLDEST, None)


@pytest.mark.parametrize("policy", [{}, {"spec": None}, {"spec": {"rules": [1, None]}}])
def test_a_broken_policy_needs_nothing(policy: Body) -> None:
    assert minimum_version(policy)[0] == OLDEST


def test_no_field_is_listed_twice() -> None:
    paths = [field.path for field in fields()]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("keep", [lambda row: "default" in row, lambda row: "without" in row])
def test_the_table_for_helm_has_false_values(keep: Callable[[Body], bool]) -> None:
    rows = {".".join(row["path"]): row for row in as_json() if keep(row)}
    assert rows["emitWarning"]["since"] == 1013
    assert False in (rows["emitWarning"].get("default"), rows["emitWarning"].get("without"))
