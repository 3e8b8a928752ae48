"""The value of each part of an expression."""

from collections.abc import Iterator

import pytest

from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel.explain import Part, explain
from chartkit.engine.cel.values import OptionalValue
from chartkit.model import pointer_of

OBJECT = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "containers": [{"image": "a:1"}, {"image": "b", "ports": [80, 443]}],
    },
}

ROWS = (
    (
        "object.spec.replicas + 1 > 3",
        """
        object.spec.replicas + 1 > 3 | True |
          object.spec.replicas + 1 | 4 |
            object.spec.replicas | 3 | /spec/replicas
        """,
    ),
    (
        # The second operand was not evaluated.
        "size(object.metadata.name) == 3 || object.spec.replicas == 1",
        """
        size(object.metadata.name) == 3 || object.spec.replicas == 1 | True |
          size(object.metadata.name) == 3 | True |
            size(object.metadata.name) | 3 |
              object.metadata.name | web | /metadata/name
        """,
    ),
    (
        # All operands of a chain are beside each other, and what is written twice is there once.
        "object.spec.replicas > 1 && object.spec.replicas < 5 && object.spec.replicas != 3",
        """
        object.spec.replicas > 1 && object.spec.replicas < 5 && object.spec.replicas != 3 | False |
          object.spec.replicas > 1 | True |
            object.spec.replicas | 3 | /spec/replicas
          object.spec.replicas < 5 | True |
          object.spec.replicas != 3 | False |
        """,
    ),
    (
        "object.spec.containers.all(c, c.image.contains(':'))",
        """
        object.spec.containers.all(c, c.image.contains(":")) | False |
          object.spec.containers | list | /spec/containers
          c | map | /spec/containers/1
            c.image.contains(":") | False |
              c.image | b | /spec/containers/1/image
        """,
    ),
    (
        # None of the elements is it: all of them decided.
        "object.spec.containers.exists(c, c.image == 'z')",
        """
        object.spec.containers.exists(c, c.image == "z") | False |
          object.spec.containers | list | /spec/containers
          c | map | /spec/containers/0
            c.image == "z" | False |
              c.image | a:1 | /spec/containers/0/image
          c | map | /spec/containers/1
            c.image == "z" | False |
              c.image | b | /spec/containers/1/image
        """,
    ),
    (
        # Elements keep their paths in a list that is made.
        "object.spec.containers.filter(c, has(c.ports)).all(c, c.ports.exists(p, p == 80))",
        """
        object.spec.containers.filter(c, has(c.ports)).all(c, c.ports.exists(p, p == 80)) | True |
          object.spec.containers.filter(c, has(c.ports)) | list |
            object.spec.containers | list | /spec/containers
            c | map | /spec/containers/1
              has(c.ports) | True | /spec/containers/1/ports
        """,
    ),
    (
        "object.spec.containers.all(i, c, i < 1)",
        """
        object.spec.containers.all(i, c, i < 1) | False |
          object.spec.containers | list | /spec/containers
          c | map | /spec/containers/1
            i < 1 | False |
              i | 1 |
        """,
    ),
    (
        "object.x.y == 1",
        """
        object.x.y == 1 | no such key: x |
          object.x.y | no such key: x | /x/y
            object | map |
        """,
    ),
    (
        "object.?spec.?x.orValue(5) == 6",
        """
        object.?spec.?x.orValue(5) == 6 | False |
          object.?spec.?x.orValue(5) | 5 | /spec/x
            object.?spec.?x | none | /spec/x
        """,
    ),
    (
        "cel.bind(n, object.spec.replicas, n + n) == 6",
        """
        cel.bind(n, object.spec.replicas, n + n) == 6 | True |
          cel.bind(n, object.spec.replicas, n + n) | 6 |
            object.spec.replicas | 3 | /spec/replicas
            n + n | 6 |
        """,
    ),
    (
        "object.spec.replicas == 3 ? object.metadata.name : 'no'",
        """
        object.spec.replicas == 3 ? object.metadata.name : "no" | web |
          object.spec.replicas == 3 | True |
            object.spec.replicas | 3 | /spec/replicas
          object.metadata.name | web | /metadata/name
        """,
    ),
    ("1 == 1", "1 == 1 | True |"),
)


def lines(part: Part, indent: str = "") -> Iterator[str]:
    value = str(part.error) if part.error else part.value
    shown = {dict: "map", list: "list", OptionalValue: "none"}.get(value.__class__, str(value))
    pointer = "" if part.path is None else pointer_of(*part.path)
    yield f"{indent}{part.text} | {shown} | {pointer}".rstrip()
    for inner in part.parts:
        yield from lines(inner, f"{indent}  ")


def explained(source: str, env: str = "vpol") -> Part:
    return explain(compile_expression(source, ENVIRONMENTS[env]), {"object": OBJECT})


@pytest.mark.parametrize(("source", "expected"), ROWS, ids=[source for source, _ in ROWS])
def test_parts_of_an_expression(source: str, expected: str) -> None:
    found = list(lines(explained(source)))
    wanted = [line[8:] if line.startswith(" " * 8) else line for line in expected.splitlines()]
    assert found == [line.rstrip() for line in wanted if line.strip()]


OFFSETS = (
    ("1 + object.spec.replicas", "object.spec.replicas"),
    ("1 == size(object.spec.containers)", "size(object.spec.containers)"),
    ("true != has(object.spec.x)", "has(object.spec.x)"),
    ("0 == cel.bind(n, object.spec.replicas, n)", "cel.bind(n, object.spec.replicas, n)"),
    ("false == !has(object.spec.x)", "!has(object.spec.x)"),
    ("[true] == object.spec.containers.map(c, has(c.image))", "object.spec.containers"),
)


@pytest.mark.parametrize(("source", "text"), OFFSETS)
def test_offsets_are_of_the_first_character(source: str, text: str) -> None:
    parts = [explained(source)]
    for part in parts:
        parts += part.parts
    assert {part.text: part.offset for part in parts}[text] == source.index(text)


@pytest.mark.parametrize(
    "source",
    ["+".join(["object.spec.replicas"] * 200), "&&".join(["object.spec.replicas == 3"] * 500)],
)
def test_explanations_of_long_expressions_are_bounded(source: str) -> None:
    assert 2 < len(list(lines(explained(source)))) <= 201
