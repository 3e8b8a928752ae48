"""Which keys are anchors, and what is found below a key."""

import pytest

from chartkit.engine.cluster_policy.pattern.build import (
    Anchor,
    AnchorKind,
    has_nested_anchors,
    parse_anchor,
)
from chartkit.model import Json
from tests.data import from_table


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        ("(a)", AnchorKind.CONDITION, "a"),
        ("=(a)", AnchorKind.EQUALITY, "a"),
        ("^(a)", AnchorKind.EXISTENCE, "a"),
        ("X(a)", AnchorKind.NEGATION, "a"),
        ("<(a)", AnchorKind.GLOBAL, "a"),
        ("+(a)", AnchorKind.ADDITION, "a"),
        ("=((a))", AnchorKind.EQUALITY, "(a)"),
        (" \t(a)\u3000", AnchorKind.CONDITION, "a"),
        ("( a )", AnchorKind.CONDITION, " a "),
        ("(a)(b)", AnchorKind.CONDITION, "a)(b"),
    ],
)
def test_kinds_of_anchors(key: str, kind: AnchorKind, name: str) -> None:
    assert parse_anchor(key) == Anchor(kind, name)


@pytest.mark.parametrize(
    "key", ["a", "()", "=()", "(a", "a)", "Z(a)", "x(a)", "(a\nb)", "==(a)", ""]
)
def test_plain_key(key: str) -> None:
    assert parse_anchor(key) is None


def test_anchors_text() -> None:
    assert str(Anchor(AnchorKind.EQUALITY, "a")) == "=(a)"


@from_table("pattern", "found")
def test_anchors_nested(pattern: Json, found: bool) -> None:
    assert has_nested_anchors(pattern) is found
