import pytest

from chartkit.kyverno.cel_literals import (
    Call,
    ObjectLiteral,
    calls,
    constants,
    objects,
    results,
    tokens,
)

GET = "resource.Get"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resource.Get('v1', \"pods\", x, 'n')", [Call(("v1", "pods", None, "n"), True)]),
        ('resource.Get(r\'v1\', """pods""")', [Call(("v1", "pods"), True)]),
        ("resource . Get ( 'a', f('b', 'c') )", [Call(("a", None), True)]),
        ("resource.Get('a', 'b').spec", [Call(("a", "b"), False)]),
        ("resource.Get('a', 'b').items.map(x, x)", [Call(("a", "b"), True)]),
        ("resource.Get(variables.v, variables.w)", [Call(("v1", None), True)]),
        ("'resource.Get(1)' + \"x\" // resource.Get('a')", []),
        ("my.resource.Get('a')", []),
        ("resource.GetAll('a')", []),
        ("resource.Get", []),
        ("resource.Get('\\x41')", [Call((None,), True)]),
        ("resource.Get('a', ('b'", [Call(("a", None), True)]),
        ("resource.Get()", [Call((), True)]),
    ],
)
def test_cel_literals_calls(text: str, expected: list[Call]) -> None:
    assert list(calls(text, GET, {"v": "v1"})) == expected


def test_objects_are_maps_with_metadata() -> None:
    text = """[
      {"apiVersion": dyn("v1"), "kind": variables.k, "metadata": dyn({"labels": {"kind": "no"}})},
      {"kind": object.kind + "x", "metadata": {}},
      {"kind": "Role", "apiVersion": "v1"},
      {kind: "Pod", "metadata": {}}]"""
    assert list(objects(text, {"k": "Secret"})) == [
        ObjectLiteral("v1", "Secret"),
        ObjectLiteral(None, None),
    ]


def test_unbalanced_text_ends() -> None:
    assert list(objects("}}} {\"kind\": 'a', ))", {})) == []
    assert list(objects("{'kind': ", {})) == []


def test_variables_whose_values_are_taken_whole() -> None:
    text = "f(variables.a, [variables.b], variables.c.items, variables.d.data, variables.e[0])"
    assert results(text) == {"a", "b", "c"}


def test_cel_literals_constants() -> None:
    assert constants({"a": "'x'", "b": "1", "c": "'x' + 'y'"}) == {"a": "x"}


def test_hostile_texts_take_no_time() -> None:
    for text in (
        "'" * 50_000,
        '"' * 50_001,
        "(" * 50_000,
        "{'kind':" * 10_000,
        "resource." * 9999,
        "resource.Get(" * 9999,
    ):
        assert len(tokens(text)) <= len(text)
        list(calls(text, GET, {}))
        list(objects(text, {}))
