"""Every value of the policies chart changes what it says."""

import json
import re
from typing import Any

import pytest

from chartkit.charts.policies.values import upstream_keys
from chartkit.documents.reader import parse_yaml
from chartkit.errors import RenderError
from chartkit.helm.render import dry_run
from chartkit.helm.staging import check_references
from chartkit.model import Body
from tests.data import from_table, tables
from tests.errors import error_of
from tests.shared import shared
from tests.unit.charts.policies.upstream_values import (
    CASES,
    FILTER,
    GROUPS,
    HOST_PATH,
    STRICT,
    Check,
    by_default,
    chart,
    render,
)

_TABLES = tables(__file__)

OF_CEL_ALONE = {"auditAnnotations", "auditAnnotationsByPolicy", "policyMatchConditions"}
"""Values that a ClusterPolicy refuses; see test_values_matrix.py for them, and for every form."""
OF_NOTES = {"profiles"}
OF_OTHER_OBJECTS = {"permissions", "configMaps", "exceptions"}
"""Values that no policy says; see test_policies_permissions.py."""


def _id(case: object) -> str:
    return "+".join(case) if isinstance(case, dict) else ""


@pytest.mark.parametrize(("values", "look", "before", "after"), CASES, ids=_id)
def test_a_value_changes_what_it_says(values: Body, look: Check, before: Any, after: Any) -> None:
    assert look(by_default()) == before
    assert look(render(values)) == after


def _schema() -> Body:
    schema: Body = json.loads((chart() / "values.schema.json").read_text())
    return schema


def test_every_value_has_such_a_test() -> None:
    tested = {key for case in CASES for key in case[0]} | OF_CEL_ALONE | OF_NOTES | OF_OTHER_OBJECTS
    tested |= {"global", "policyType"}
    assert tested == set(_schema()["properties"])
    of_policy = _schema()["definitions"]["policy"]["properties"]
    tested = {
        key for case in CASES for body in case[0].get("policies", {}).values() for key in body
    }
    assert tested | {"matchConditions", "auditAnnotations"} == set(of_policy)


def _describe(schema: Body, path: str = "") -> list[str]:
    missing = []
    for key, body in schema.get("properties", {}).items():
        if "description" not in body and "$ref" not in body:
            missing.append(f"{path}.{key}")
        missing += _describe(body, f"{path}.{key}")
    return missing


def test_every_key_is_described() -> None:
    schema = _schema()
    assert _describe(schema) == []
    assert all("description" in body for body in schema["definitions"].values())


def test_every_value_is_in_values_yaml_under_a_comment_or_a_key_of_upstreams() -> None:
    text = (chart() / "values.yaml").read_text()
    upstream = upstream_keys(_schema())
    assert set(upstream) == {
        *("podSecurityPolicies", "includeRestrictedPolicies", "includeOtherPolicies"),
        *("validationFailureActionByPolicy", "policyExclude", "policyPreconditions"),
        *("policyMatchConditions", "podSecuritySeverityByPolicy", "customAnnotationsByPolicy"),
        *("auditAnnotationsByPolicy", "vpolExclude", "vpolExcludeByPolicy"),
    }
    paragraphs = text.split("\n\n")
    for key in set(_schema()["properties"]).difference(upstream):
        own = [each for each in paragraphs if re.search(rf"^(# )?{key}:", each, re.MULTILINE)]
        assert len(own) == 1
        assert own[0].startswith("# -- ")
    for key in upstream:
        assert re.search(rf"\b{key}\b", paragraphs[-1])


def test_values_yaml_has_no_null_and_an_entry_for_every_policy() -> None:
    text = (chart() / "values.yaml").read_text()
    assert "null" not in text
    assert "~" not in text
    values = parse_yaml(text)
    assert set(values["policies"]) == set(_schema()["properties"]["policies"]["properties"])
    assert len(text.splitlines()) < 400


def test_the_schema_is_small_and_refers_to_itself_alone() -> None:
    text = (chart() / "values.schema.json").read_text()
    assert len(text) < 120_000
    assert check_references(text.encode(), "values.schema.json") == []
    assert set(re.findall(r'"\$ref": "(.)', text)) == {"#"}


def test_the_readme_names_every_value_policy_and_parameter() -> None:
    readme = (chart() / "README.md").read_text()
    for key in _schema()["properties"]:
        assert f"\n| `{key}` |" in readme
    values = parse_yaml((chart() / "values.yaml").read_text())
    for name, entry in values["policies"].items():
        section = readme.partition(f"\n### {name}\n")[2].partition("\n## ")[0]
        for parameter in entry.get("parameters", {}):
            assert f"\n| `{parameter}` |" in section.partition("\n### ")[0]


def test_null_says_nothing_for_keys_that_values_yaml_does_not_have() -> None:
    old: Body = {"policies": {HOST_PATH: {"enabled": None, "action": None}}}
    old |= dict.fromkeys(upstream_keys(_schema()))
    assert render(old) == render()


@from_table("values", "place")
def test_the_schema_refuses(values: Body, place: str) -> None:
    assert place in str(error_of(RenderError, render, values))


def test_null_takes_a_value_back_to_its_default() -> None:
    cleared: Body = dict.fromkeys(set(_schema()["properties"]) - {"global"})
    cleared["podSecurityStandard"] = "restricted"
    cleared["policyType"] = "ClusterPolicy"
    assert render(cleared) == render()


def test_a_null_parameter_falls_back_to_its_default() -> None:
    assert render({"parameters": {"podSecurityVersion": None}}) == render()


UPSTREAM = _TABLES["upstream"]
"""Keys and defaults of the upstream chart kyverno-policies 3.9.0."""


def test_upstreams_default_values_pass() -> None:
    names = render(UPSTREAM).names
    assert HOST_PATH in names
    assert STRICT not in names
    notes = dry_run(chart(), [UPSTREAM], kube_version="v1.34.0").notes
    assert "policies are of type ValidatingPolicy" in notes
    plain = {"policyType": "ClusterPolicy"}
    assert "policies are of type" not in dry_run(chart(), [plain], kube_version="v1.34.0").notes


def test_upstreams_policies_and_rules_can_be_named() -> None:
    file = shared("reference/kyverno-policies-chart-3.9.0.json")
    upstream = json.loads(file.read_text("utf-8"))
    excluded = {
        key: {"any": [FILTER]}
        for name, forms in upstream.items()
        for key in (name, *forms["ClusterPolicy"]["rules"])
    }
    rendered = render({"policyExclude": excluded, "includeOtherPolicies": [GROUPS]})
    assert set(upstream) <= rendered.names
    for name, forms in upstream.items():
        rules = {rule["name"]: rule for rule in rendered.spec(name)["rules"]}
        assert set(forms["ClusterPolicy"]["rules"]) <= set(rules)
        assert all(rule["exclude"] == {"any": [FILTER]} for rule in rules.values())
