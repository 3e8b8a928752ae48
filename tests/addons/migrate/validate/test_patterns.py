"""Patterns become expressions: each anchor, each kind of leaf, required and optional fields."""

import pytest
import yaml

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import object_of
from chartkit.addons.migrate.validate.pattern import any_pattern_verdict, pattern_verdict
from chartkit.engine.cel.syntax import format_expression
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from tests.data import from_table

_POD = (GroupVersionKind("", "v1", "Pod"),)


def converted(text: str, kinds: tuple[GroupVersionKind, ...] = _POD) -> str:
    pattern = yaml.safe_load(text)
    return format_expression(pattern_verdict(pattern, object_of(kinds)).allows, 1000)


@from_table("pattern", "expression")
def test_patterns_of_pods(pattern: str, expression: str) -> None:
    assert converted(pattern) == expression


def test_sizes_are_compared_as_sizes() -> None:
    text = converted("spec: {containers: [{resources: {limits: {memory: '<=4Gi'}}}]}")
    assert "quantity(string(" in text
    assert ".compareTo(quantity('4Gi')) <= 0" in text


def test_unknown_kinds_have_optional_fields() -> None:
    widget = (GroupVersionKind("example.com", "v1", "Widget"),)
    assert converted("spec: {size: {unit: large}}", widget) == (
        "object.?spec.?size.?unit.orValue('') == 'large'"
    )


def test_alternatives_hold_or_none_applies() -> None:
    verdict = any_pattern_verdict(
        [{"spec": {"hostNetwork": True}}, {"spec": {"hostPID": True}}], object_of(_POD)
    )
    assert format_expression(verdict.allows, 1000) == (
        "object.spec.?hostNetwork.orValue(false) || object.spec.?hostPID.orValue(false)"
    )


@from_table("pattern", "expression")
def test_no_object_is_a_text(pattern: str, expression: str) -> None:
    assert converted(pattern) == expression


@pytest.mark.parametrize("pattern", ["spec: {containers: []}", "spec: {hostNetwork: '<3s'}"])
def test_patterns_without_a_form_are_refused(pattern: str) -> None:
    with pytest.raises(NotConvertible):
        converted(pattern)
