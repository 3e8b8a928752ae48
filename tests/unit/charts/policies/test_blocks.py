"""How values and what a policy says of itself come together in one ClusterPolicy."""

import json
from pathlib import Path
from typing import Any

import pytest

from chartkit.charts.policies.chart import plan
from chartkit.errors import RenderError
from chartkit.model import Body
from tests.unit.charts.policies.own_policy import PATTERN, RULE, first_rule, mine, own_project

_CONDITIONS = [{"key": name, "operator": "Equals", "value": "{{ x }}"} for name in "abcd"]
_FILTERS = [{"resources": {"namespaces": [name]}} for name in "abc"]


@pytest.mark.parametrize(
    ("own", "everywhere", "policy", "joined"),
    [
        (None, {}, {}, None),
        ({"any": [_FILTERS[0]]}, {}, {}, {"any": [_FILTERS[0]]}),
        ({"any": [_FILTERS[0]]}, {"any": [_FILTERS[1]]}, {}, {"any": _FILTERS[:2]}),
        ({"all": [_FILTERS[0]]}, {"all": [_FILTERS[1]]}, {"any": [_FILTERS[2]]}, {"any": _FILTERS}),
        (_FILTERS[0], {}, {"any": [_FILTERS[1]]}, {"any": _FILTERS[:2]}),
        (None, {}, {"all": _FILTERS}, {"all": _FILTERS}),
        (None, {}, {"all": _FILTERS[:1], "any": _FILTERS[1:2]}, "has any and all"),
        ({"any": [_FILTERS[0]]}, {}, {"all": _FILTERS[1:]}, "cannot be joined"),
    ],
)
def test_exclusions_are_joined(
    tmp_path: Path, own: Body | None, everywhere: Body, policy: Body, joined: Body | str | None
) -> None:
    text = RULE + (f"      exclude: {json.dumps(own)}\n" if own else "") + PATTERN
    chart = plan(own_project(tmp_path, text))
    values = {"exclude": everywhere, "policies": {"mine": {"exclude": policy}}}
    if isinstance(joined, str):
        with pytest.raises(RenderError, match=joined):
            first_rule(chart, **values)
    else:
        assert first_rule(chart, **values).get("exclude") == joined


def test_a_rule_s_block_takes_the_place_of_its_policy_s(tmp_path: Path) -> None:
    chart = plan(own_project(tmp_path, RULE + PATTERN))
    values: Body = {"policyExclude": {"mine": {"any": _FILTERS[:1]}}}
    for rule, joined in (
        ({"any": _FILTERS[1:2]}, {"any": _FILTERS[1:2]}),
        ({"all": _FILTERS[1:2]}, {"any": _FILTERS[:2]}),
    ):
        values["policyExclude"]["rule"] = rule
        assert first_rule(chart, **values)["exclude"] == joined
    conditions: Body = {"mine": {"all": _CONDITIONS[:1]}, "rule": {"all": _CONDITIONS[1:2]}}
    assert first_rule(chart, policyPreconditions=conditions)["preconditions"] == conditions["rule"]


@pytest.mark.parametrize(
    ("own", "policy", "joined"),
    [
        (None, {}, None),
        ({"all": _CONDITIONS[:1]}, {}, {"all": _CONDITIONS[:1]}),
        ({"all": _CONDITIONS[:1]}, {"all": _CONDITIONS[1:2]}, {"all": _CONDITIONS[:2]}),
        (_CONDITIONS[:1], {"all": _CONDITIONS[1:2]}, {"all": _CONDITIONS[:2]}),
        (
            {"all": _CONDITIONS[:1]},
            {"any": _CONDITIONS[1:3]},
            {"all": _CONDITIONS[:1], "any": _CONDITIONS[1:3]},
        ),
        (
            {"any": _CONDITIONS[:2]},
            {"any": _CONDITIONS[2:3]},
            {"all": _CONDITIONS[2:3], "any": _CONDITIONS[:2]},
        ),
        ({"any": _CONDITIONS[:2]}, {"any": _CONDITIONS[2:]}, "cannot be joined"),
    ],
)
def test_preconditions_are_joined(
    tmp_path: Path, own: Any, policy: Body, joined: Body | str | None
) -> None:
    text = RULE + (f"      preconditions: {json.dumps(own)}\n" if own else "") + PATTERN
    chart = plan(own_project(tmp_path, text))
    values = {"policies": {"mine": {"preconditions": policy}}}
    if isinstance(joined, str):
        with pytest.raises(RenderError, match=joined):
            first_rule(chart, **values)
    else:
        assert first_rule(chart, **values).get("preconditions") == joined


def test_what_a_policy_says_of_itself_stays(tmp_path: Path) -> None:
    text = RULE.replace(
        "spec:\n",
        "  annotations: {pod-policies.kyverno.io/autogen-controllers: none, own: x}\n"
        "spec:\n  background: false\n",
    )
    body = mine(plan(own_project(tmp_path, text + PATTERN)), autogenControllers="Deployment")
    assert body["spec"]["background"] is False
    annotations = body["metadata"]["annotations"]
    assert annotations["pod-policies.kyverno.io/autogen-controllers"] == "none"
    assert annotations["own"] == "x"
    assert annotations["policies.kyverno.io/severity"] == "high"


def test_defaults_of_other_rule_types_are_written_out(tmp_path: Path) -> None:
    text = RULE + (
        "      context: [{name: a, apiCall: {urlPath: /x}}]\n"
        "      verifyImages:\n"
        "        - imageReferences: ['*']\n"
        "          attestors: [{entries: [{keys: {publicKeys: k}}]}]\n"
    )
    rule = first_rule(plan(own_project(tmp_path, text, minimum="1.7")))
    assert rule["context"][0]["apiCall"]["method"] == "GET"
    images = rule["verifyImages"][0]
    assert all(images[key] for key in ("mutateDigest", "required", "verifyDigest", "useCache"))
    entry = images["attestors"][0]["entries"][0]
    assert entry["signatureAlgorithm"] == entry["keys"]["signatureAlgorithm"] == "sha256"
