"""What the chart writes is what the API server stores: nothing dropped, nothing filled in."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chartkit.charts.policies.chart import plan_for_profile
from chartkit.documents.reader import read_file
from chartkit.helm.render import render_chart
from chartkit.kyverno.policy_fields import fields
from chartkit.model import Body
from chartkit.schemas.crds import definition, kinds

_GOLDEN = Path(__file__).parents[3] / "golden" / "policies_chart" / "expected"


_CLUSTER, _CEL = "clusterpolicies.kyverno.io", "validatingpolicies.policies.kyverno.io"


@cache
def _spec_schema(name: str = _CLUSTER) -> Body:
    """The schema of a kind's spec in Kyverno 1.19."""
    kind = next(each for each in kinds() if each.name == name)
    version = next(each for each in definition(kind)["spec"]["versions"] if each["name"] == "v1")
    schema: Body = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def _changes(value: Any, schema: Body, path: str) -> Iterator[str]:
    """What an API server would drop of a value or fill in."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list):
        for item in value:
            yield from _changes(item, schema["items"], f"{path}[]")
    if not isinstance(value, dict):
        return
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for key, item in value.items():
        if key in properties:
            yield from _changes(item, properties[key], f"{path}.{key}")
        elif isinstance(others, dict):
            yield from _changes(item, others, f"{path}.{key}")
        elif properties or others is None:
            yield f"{path}.{key} is dropped"
    for key, inner in properties.items():
        if "default" in inner and key not in value:
            yield f"{path}.{key} is filled in"


def _all_changes(bodies: Iterable[Body], name: str = _CLUSTER) -> set[str]:
    schema = _spec_schema(name)
    return {change for body in bodies for change in _changes(body["spec"], schema, "spec")}


@pytest.mark.parametrize(
    ("form", "name"), [("ClusterPolicy", _CLUSTER), ("ValidatingPolicy", _CEL)]
)
def test_the_standards_policies(form: str, name: str) -> None:
    plan = plan_for_profile("pss-restricted", {})
    values = {
        "policyType": form,
        "includeOtherPolicies": ["require-non-root-groups"],
        "exclude": {"any": [{"resources": {"namespaces": ["kube-system"]}}]},
        "validationFailureActionOverrides": {"all": [{"action": "Audit", "namespaces": ["a"]}]},
    }
    rendered = render_chart(plan, [values])
    assert len(rendered.resources) > 15
    assert {each.kind for each in rendered.resources} == {form}
    assert _all_changes((each.body for each in rendered.resources), name) == set()


def test_the_golden_policies() -> None:
    bodies = (document.body for document in read_file(_GOLDEN / "v1-19.yaml"))
    assert _all_changes(bodies) == set()


def test_an_older_version_s_policies_would_be_filled_in() -> None:
    bodies = (document.body for document in read_file(_GOLDEN / "v1-12.yaml"))
    assert "spec.emitWarning is filled in" in _all_changes(bodies)


def _lookup(path: tuple[str, ...]) -> Body | None:
    node: Any = _spec_schema()
    for step in path:
        if step == "*":
            node = node.get("items", node.get("additionalProperties"))
        else:
            node = node.get("properties", {}).get(step)
        if node is None:
            return None
    schema: Body = node
    return schema


@pytest.mark.parametrize("path", [field.path for field in fields()], ids=".".join)
def test_every_field_of_the_table_is_there(path: tuple[str, ...]) -> None:
    assert _lookup(path) is not None


def _defaults(schema: Body, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, inner in schema.get("properties", {}).items():
        if "default" in inner:
            yield (*path, key)
        yield from _defaults(inner, (*path, key))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _defaults(schema[key], (*path, "*"))


def test_every_default_is_in_the_table() -> None:
    table = {field.path: field.default for field in fields()}
    # The chart's own helper writes the action.
    expected = set(_defaults(_spec_schema())) - {("validationFailureAction",)}
    assert expected == {path for path, default in table.items() if default is not None}
    for path in expected:
        found = _lookup(path)
        assert found is not None
        assert found["default"] == table[path]
