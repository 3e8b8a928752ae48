"""Rules whose synchronize or generateExisting never acts: the background has no operation."""

import pytest

from chartkit import bundled
from chartkit.catalog.authoring.check import check_path
from chartkit.model import Body
from chartkit.scan.policies import compile_all
from tests.unit.engine.policies import policy_resource, rule

FREE: Body = {"resources": {"kinds": ["Namespace"]}}
BOUND: Body = {"resources": {"kinds": ["Namespace"], "operations": ["CREATE"]}}
OTHER: Body = {"resources": {"kinds": ["Secret"]}}
ALL_OPERATIONS = ["CREATE", "UPDATE", "DELETE", "CONNECT"]
EVERY: Body = {"resources": {"kinds": ["Namespace"], "operations": ALL_OPERATIONS}}


def _findings(match: Body, spec: Body | None = None, **generate: bool) -> list[str]:
    body = rule("g", ("Namespace",))
    del body["validate"]
    body["match"] = match
    body["generate"] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "made",
        "namespace": "{{ request.object.metadata.name }}",
        "data": {"data": {"a": "b"}},
        **generate,
    }
    resource = policy_resource(body)
    resource.body["spec"].update(spec or {})
    found = compile_all([resource]).warnings
    assert all(each.rule_id == "CK520" and "precondition" in str(each.hint) for each in found)
    return [each.message for each in found]


@pytest.mark.parametrize(
    ("match", "trapped"),
    [
        ({"any": [FREE]}, False),
        ({"any": [BOUND]}, True),
        ({"any": [EVERY]}, True),
        ({"all": [BOUND]}, True),
        ({"all": [FREE, BOUND]}, True),
        (BOUND, True),
        (FREE, False),
        ({"any": [FREE, BOUND]}, False),
        ({"any": [OTHER, BOUND]}, True),
    ],
)
def test_a_match_with_operations_leaves_out_the_background(match: Body, trapped: bool) -> None:
    said = "rule g: {} without effect: match names operations, and what Kyverno does in the "
    for switch in ("synchronize", "generateExisting"):
        found = _findings(match, None, **{switch: True})
        assert bool(found) is trapped
        assert all(said.format(switch) in each for each in found)
        assert _findings(match, None, **{switch: False}) == []
    assert _findings(match) == []


def test_generate_existing_of_the_policy_counts_where_the_rule_says_nothing() -> None:
    assert _findings({"any": [BOUND]}, {"generateExisting": True})
    assert not _findings({"any": [BOUND]}, {"generateExisting": True}, generateExisting=False)


def test_no_policy_of_the_library_has_it() -> None:
    files = bundled.library_dir().glob("*/*/policy.yaml")
    generating = [file.parent for file in files if "\n      generate:\n" in file.read_text()]
    assert len(generating) >= 3
    for folder in generating:
        found = check_path(folder).diagnostics
        assert [str(each) for each in found if each.rule_id == "CK520"] == []
