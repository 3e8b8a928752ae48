"""The line and column of every key, item and character, in every style of YAML."""

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chartkit.documents import parsed_places, places
from chartkit.documents.parsed_places import offset_in_source
from chartkit.documents.reader import read_text, resources
from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import InputError
from chartkit.model import Location, pointer_of
from tests.data import from_table
from tests.draws import draws

_KEYS = st.text(st.sampled_from("ab~/.-é日 0"), min_size=1, max_size=4)
_SCALARS = st.none() | st.booleans() | st.integers() | st.text("ab:\n'\"{é日", max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=3)
_LIST = {"apiVersion": "v1", "kind": "List"}


def _composed(node: yaml.Node, path: tuple[str, ...] = ()) -> Iterator[tuple[Any, int, int]]:
    """Yield each path with its line and column, by PyYAML's own composer."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            mark = key.start_mark
            yield (*path, key.value), mark.line + 1, mark.column + 1
            yield from _composed(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            mark = item.start_mark
            yield (*path, str(number)), mark.line + 1, mark.column + 1
            yield from _composed(item, (*path, str(number)))


def _expected(text: str) -> list[list[tuple[Any, int, int]]]:
    nodes = yaml.compose_all(text, Loader=yaml.CSafeLoader)
    return [list(_composed(node)) for node in nodes]


def _located(text: str) -> list[list[tuple[Any, int, int]]]:
    found = []
    for document, rows in zip(read_text(text, "f"), _expected(text), strict=True):
        placed = [(path, document.locate(*path)) for path, _, _ in rows]
        assert all(place.path == pointer_of(*path) for path, place in placed)
        found.append([(path, place.line, place.column) for path, place in placed])
    return found


@given(st.lists(_OBJECTS, min_size=1, max_size=3))
@draws(150)
def test_every_key_and_item_of_yaml_has_the_composers_place(bodies: list[Any]) -> None:
    for text in (
        dump_documents(bodies),
        "# first\n\n---\n" + yaml.safe_dump_all(bodies, default_flow_style=True),
        yaml.safe_dump({**_LIST, "items": bodies}, sort_keys=False),
        "---\n\n" + yaml.safe_dump({**_LIST, "items": bodies}, default_flow_style=True),
    ):
        # PyYAML writes keys such as -.0 without quotes, which Kubernetes reads as numbers.
        found = [document.body for document in read_text(text, "f")]
        assume(found in (bodies, [{**_LIST, "items": bodies}]))
        assert _located(text) == _expected(text)


@given(st.lists(_OBJECTS, min_size=1, max_size=3), st.sampled_from([None, 1, 4]))
@draws(150)
def test_every_key_and_item_of_json_has_the_composers_place(
    bodies: list[Any], indent: int | None
) -> None:
    lists: list[Any] = [{"items": bodies, **_LIST}, {"items": [1, bodies]}, {"items": {}}]
    for body in (bodies[0], *lists):
        text = "\n \n" + json.dumps(body, indent=indent, ensure_ascii=False) + "\n"
        assert _located(text) == _expected(text)


_LINES = st.sampled_from(
    (
        *("a:", "b: 1", "a: x y", "b.c/d: 'it''s'", "- x", "- a: 1", "- a:", "-", "- - x", "- |"),
        *("a: |", "b: >-", "text", "# c", "", "a: {}", "b: []", "- {}", "a: [x]", "a: {b: 1}"),
        *(
            "a: x # c",
            "a: &n 1",
            "b: *n",
            "? a",
            ": 1",
            "a:  x ",
            "yes: 1",
            "'a': 1",
            "a: 'x",
            "y'",
        ),
        *('a: "x\\"y"', "a: http://b", "- http://b", "- 10:20", "a: -x", "a: - x", "<<: {a: 1}"),
        *(
            "a: b: c",
            "a: |2",
            "a: !!str 1",
            "---",
            "...",
            "a: x#y",
            "é: 1",
            "a: é",
            "a: ~",
            "-x: 1",
        ),
    )
)
_INDENTED = st.builds(lambda line, depth: " " * depth + line, _LINES, st.integers(0, 6))


@given(st.lists(_INDENTED, min_size=1, max_size=9))
@settings(draws(300), suppress_health_check=[HealthCheck.filter_too_much])
def test_lines_have_the_places_that_the_parser_gives(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        documents = read_text(text, "f")
    except InputError:
        assume(False)
    for document in documents:
        quick = places.finder(text, document.extent)
        exact = parsed_places.YamlFinder(text, document.extent)
        for path in _paths(document.body):
            assert quick.find(path) == exact.find(path), path


def _paths(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each value below one, with some that lead nowhere."""
    yield path
    for missing in ("a", "0", "- x", "9"):
        yield (*path, missing)
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, str(key)))


def test_places_in_plain_block_style() -> None:
    text = (
        "# c\n---\n\n  a:\n# c\n    b:\n    - c: |\n       d: 1\n       - e\n"
        "      d: x\n    -   e\n  f: {}\n  a.b: 1\n  g:\n  - h\n  a: 2\n---\nh:\n- i\n"
    )
    first, second = read_text(text, "f")
    assert (first.extent.is_block, second.extent.is_block) == (True, True)
    for document in (first, second):
        exact = parsed_places.YamlFinder(text, document.extent)
        for path in (*_paths(document.body), ("a", "b", "0", "d")):
            assert places.finder(text, document.extent).find(path) == exact.find(path), path


def test_plain_block_style_needs_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    text = dump_documents([{"a": {"b": [{"c": 1, "d": "x y"}, "z"], "e": "'"}, "f": []}])
    monkeypatch.setattr(parsed_places, "CParser", None)
    [document] = read_text(text, "f")
    assert str(document.locate("a", "b", 0, "d")) == "f:4:5"


def test_the_last_of_equal_keys_counts_in_json() -> None:
    [document] = read_text('\n{"a": {"b": 1}, "a":\n {"c": [1,\n  2]}}', "f")
    assert str(document.locate("a", "c", 1)) == "f:4:3"
    assert document.locate("a", "b").path == "/a"
    assert str(document.location) == "f:2"


def test_aliases_and_merge_keys_lead_to_what_is_written_out() -> None:
    text = (
        "base: &base\n  cpu: 1\n  memory: 2\none: *base\n"
        "two:\n  <<: *base\n  cpu: 3\nthree: {<<: [{memory: 4}, *base]}\n"
        "name: &name x\nfour: *name\n"
    )
    [document] = read_text(text, "f")
    lines = {
        path: document.locate(*path.split(".")).line
        for path in ("one.cpu", "two.cpu", "two.memory", "three.memory", "three.cpu", "four")
    }
    assert lines == {
        "one.cpu": 2,
        "two.cpu": 7,
        "two.memory": 3,
        "three.memory": 8,
        "three.cpu": 2,
        "four": 10,
    }


def test_an_alias_between_items_of_a_list_leads_to_the_other_item() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- &a\n  kind: A\n  apiVersion: v1\n  spec: &s\n    x: 1\n"
        "- kind: B\n  apiVersion: v1\n  spec: *s\n- *a\n"
    )
    first, second, third = (each.location.within("/spec/x") for each in resources(read_text(text)))
    assert [first.line, second.line, third.line] == [8, 8, 8]


def test_keys_are_those_of_the_value() -> None:
    [document] = read_text("yes: 1\n010: 2\n1.5: 3\n'<<': 4\n? b\n: {c: 5}\n", "f")
    assert [document.locate(key).line for key in document.body] == [1, 2, 3, 4, 5]
    assert str(document.locate("b", "c")) == "f:6:4"


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_lines_end_as_they_do_in_editors(separator: str) -> None:
    text = f'a: "x{separator}y"\n---\nb: 1 # {separator}\nitems:\n- c: 1\n- d: {{e: 2}}\n'
    first, second = read_text(text, "f")
    assert str(first.locate("a")) == "f:1:1"
    assert (second.location.line, str(second.locate("b"))) == (3, "f:3:1")
    assert str(second.locate("items", 1, "d", "e")) == "f:6:7"
    assert second.locate("items", 0).line == 5


def test_a_location_leaves_the_text_behind_where_it_is_pickled() -> None:
    [document] = read_text("a: 1\n#" + "x" * 100_000, "f")
    place = document.locate("a")
    assert place.places is not None
    pickled = pickle.dumps(place)
    assert len(pickled) < 500
    restored = pickle.loads(pickled)  # noqa: S301
    assert restored == place
    assert restored.within("/b") == Location("f", 1, 1, "/a")


def test_items_of_a_list_are_parsed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    tree = parsed_places._tree

    def counted(text: str, line: int) -> Any:
        parsed.append(len(text))
        return tree(text, line)

    monkeypatch.setattr(parsed_places, "_tree", counted)
    items = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}} for i in range(500)]
    text = dump_documents([{"apiVersion": "v1", "kind": "List", "items": items}]) + "x: [1]\n"
    found = resources(read_text(text, "f"))
    assert not parsed
    for each in found:
        assert each.location.within("/metadata/name").line == each.location.line + 3
        assert each.location.within("/metadata").line == each.location.line + 2
    assert len(parsed) == len(found)
    assert sum(parsed) < 2 * len(text)


@from_table("text", "needle", "place")
def test_characters_of_texts_have_their_place(text: str, needle: str, place: str) -> None:
    [document] = read_text(text, "f")
    value: Any = document.body
    step: str | int
    pointer = ""
    while not isinstance(value, str):
        step, value = ("a", value["a"]) if isinstance(value, dict) else (len(value) - 1, value[-1])
        pointer += f"/{step}"
    found = document.location.character(pointer, value.index(needle))
    assert str(found) == f"f:{place}"
    assert found.path == pointer


def test_what_is_no_text_has_the_place_of_its_key() -> None:
    [document] = read_text("a:\n  b: {c: 1}\n", "f")
    assert str(document.location.character("/a/b", 3)) == "f:2:3"
    assert str(document.location.character("/a/x", 3)) == "f:1:1"
    assert Location("f", 3).character("/a", 1) == Location("f", 3)


@given(
    st.text("ab \n\t'\"\\:#é日", min_size=1, max_size=20),
    st.sampled_from(["'", '"', "|", ">", None]),
    st.integers(1, 80),
)
def test_every_letter_is_found_in_every_style(text: str, style: str | None, width: int) -> None:
    source = yaml.dump({"k": text}, default_style=style, width=width, allow_unicode=True)
    document: Any = yaml.compose(source, Loader=yaml.CSafeLoader)
    node = document.value[0][1]
    raw = source[node.start_mark.index : node.end_mark.index]
    for offset, letter in enumerate(text):
        found = offset_in_source(raw, node.style, node.value, offset)
        if letter.isspace() or found is None:
            continue
        assert raw[found] in (letter, "\\")


def test_texts_that_differ_have_no_offset() -> None:
    assert offset_in_source("abc", None, "abd", 1) is None
    assert offset_in_source("''", "'", "", 0) is None
