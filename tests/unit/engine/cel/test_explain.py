"""What each part of an expression came to."""

from __future__ import annotations

from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel.explain import Part, explain

OBJECT = {"spec": {"replicas": 3, "containers": [{"image": "a:1"}, {"image": "b"}]}}


def parts(source: str, env: str = "vpol") -> tuple[Part, ...]:
    return explain(compile_expression(source, ENVIRONMENTS[env]), {"object": OBJECT})


def told(source: str, env: str = "vpol") -> list[tuple[int, str, object]]:
    return [(part.depth, part.text, part.error or part.value) for part in parts(source, env)]


def test_the_whole_comes_before_its_parts() -> None:
    assert told("object.spec.replicas + 1 > 3") == [
        (0, "object.spec.replicas + 1 > 3", True),
        (1, "object.spec.replicas + 1", 4),
        (2, "object.spec.replicas", 3),
        (3, "object.spec", OBJECT["spec"]),
        (4, "object", OBJECT),
    ]


def test_what_was_not_evaluated_is_not_told() -> None:
    texts = [text for _, text, _ in told("size('a') == 1 || object.spec.replicas == 1")]
    assert texts == ['size("a") == 1 || object.spec.replicas == 1', 'size("a") == 1', 'size("a")']


def test_a_macro_is_told_once_with_what_it_goes_through() -> None:
    found = told("object.spec.containers.map(c, c.image)")
    assert found[0] == (0, "object.spec.containers.map(c, c.image)", ["a:1", "b"])
    assert [text for _, text, _ in found[1:]] == ["object.spec.containers", "object.spec", "object"]


def test_the_part_that_fails_carries_the_error() -> None:
    failing = {part.text: str(part.error) for part in parts("object.x.y == 1") if part.error}
    assert failing == dict.fromkeys(("object.x.y == 1", "object.x.y", "object.x"), "no such key: x")


def test_optional_parts_are_optional_values() -> None:
    found = {text: str(value) for _, text, value in told("object.?spec.?x.orValue(5)", "k8s")}
    assert found["object.?spec.?x.orValue(5)"] == "5"
    assert found["object.?spec.?x"] == "OptionalValue(present=False, value=None)"


def test_a_bound_value_and_its_result_are_parts() -> None:
    found = told("cel.bind(n, object.spec.replicas, n + n)")
    assert (1, "n + n", 6) in found
    assert (1, "object.spec.replicas", 3) in found


def test_offsets_point_into_the_source() -> None:
    source = "1 + object.spec.replicas"
    by_text = {part.text: part.offset for part in parts(source)}
    assert by_text["object"] == source.index("object")
