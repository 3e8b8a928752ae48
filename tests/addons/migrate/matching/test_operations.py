"""Rules about operations: of a deletion there is no object but the one that goes."""

import pytest
import yaml

from chartkit.addons.migrate.proof import ProofOptions, prove
from chartkit.model import Body, Resource
from tests.addons.migrate.conversions import Converted, converted

_FILTERS = {
    "selector: {matchLabels: {keep: 'yes'}}": "metadata.?labels.?keep.orValue('') == 'yes'",
    "annotations: {keep: '*'}": "metadata.?annotations.?keep.hasValue()",
    "names: [kept]": "metadata.?name.orValue(OBJECT.metadata.?generateName.orValue('')) == 'kept'",
}
_OBJECTS = {
    "[DELETE]": "oldObject",
    "[CREATE, UPDATE]": "object",
    "[UPDATE, DELETE]": "(request.operation == 'DELETE' ? oldObject : object)",
}


def _deny(match: str) -> Converted:
    resources = f"{{kinds: [ConfigMap], {match}}}"
    return converted(f"{{match: {{any: [{{resources: {resources}}}]}}, validate: {{deny: {{}}}}}}")


@pytest.mark.parametrize("operations", _OBJECTS)
@pytest.mark.parametrize("match", _FILTERS)
def test_matches_ask_the_object_that_goes(match: str, operations: str) -> None:
    found = _deny(f"operations: {operations}, {match}")
    judged = _OBJECTS[operations]
    expected = f"{judged}.{_FILTERS[match]}".replace("OBJECT", judged)
    assert found.conditions == [expected]
    assert found.changes == ()


@pytest.mark.parametrize("operations", _OBJECTS)
@pytest.mark.parametrize("match", [each for each in _FILTERS if not each.startswith("names")])
def test_deletions_are_judged_alike(match: str, operations: str) -> None:
    found = _deny(f"operations: {operations}, {match}")
    forms = [Resource(body) for body in found.documents]
    proof = prove(found.legacy, forms, options=ProofOptions(most_requests=200))
    assert proof.equal


def test_deletions_are_named_where_the_rule_judged_them() -> None:
    assert [change.split(":")[0] for change in _deny("names: [kept]").changes] == [
        "deletions are no longer judged"
    ]
    assert _deny("operations: [CREATE]").changes == ()


def test_excluded_objects_are_those_that_go() -> None:
    rule: Body = yaml.safe_load(
        "{match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]},"
        " exclude: {any: [{resources: {selector: {matchLabels: {free: 'yes'}}}}]},"
        " validate: {deny: {}}}"
    )
    found = converted(yaml.safe_dump(rule))
    assert found.conditions == ["oldObject.metadata.?labels.?free.orValue('') != 'yes'"]


def test_what_the_match_says_of_operations_is_not_asked_again() -> None:
    conditions = (
        "{key: '{{ request.operation }}', operator: NotEquals, value: DELETE},"
        "{key: '{{ request.object.metadata.name }}', operator: Equals, value: a}"
    )
    found = converted(f"validate: {{message: m, deny: {{conditions: {{all: [{conditions}]}}}}}}")
    assert found.expressions == ["object.metadata.name != 'a'"]
    assert found.changes == ()
    proof = prove(found.legacy, [Resource(body) for body in found.documents])
    assert proof.equal, proof.differences
