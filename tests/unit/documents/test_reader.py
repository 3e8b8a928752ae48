"""documents.reader: what Kubernetes reads, with places, and one clear line for what is wrong."""

from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.places import Extent
from chartkit.documents.reader import Document, Source, parse_yaml, read_file, read_text, resources
from chartkit.documents.yaml_builder import MAX_ALIASED, MAX_DEPTH
from chartkit.errors import InputError
from tests.data import from_table
from tests.errors import error_of


@from_table("text", "value")
def test_scalars_resolve_as_kubernetes_resolves_them(text: str, value: Any) -> None:
    [document] = read_text(f"v: {text}")
    assert document.body == {"v": value}
    assert type(document.body["v"]) is type(value)


def test_keys_become_text() -> None:
    assert parse_yaml("yes: 1\n2: 3\n1.5: 4") == {"true": 1, "2": 3, "1.5": 4}


def test_last_of_two_equal_keys_wins() -> None:
    assert parse_yaml("a: 1\na: 2") == {"a": 2}


def test_merge_keys_give_way_to_explicit_ones_wherever_these_stand() -> None:
    text = "x: &x {a: 1, b: 2}\nw: {a: 3, <<: *x}\nz: {<<: [*x, {c: 4, b: 9}], a: 5}"
    value = parse_yaml(text)
    assert value["w"] == {"a": 3, "b": 2}
    assert value["z"] == {"a": 5, "b": 2, "c": 4}


def test_quoted_merge_key_is_an_ordinary_key() -> None:
    assert parse_yaml("'<<': 1") == {"<<": 1}


def test_json_numbers_are_those_of_yaml() -> None:
    [document] = read_text('{"a": 1.0, "b": 12345678901234567890, "c": 1.5}')
    assert document.body == {"a": 1, "b": 1.2345678901234567e19, "c": 1.5}
    assert isinstance(document.body["a"], int)


def test_empty_documents_are_left_out_and_lines_stay_true() -> None:
    documents = read_text("---\n# nothing\n---\na: 1\n---\n\nb:\n  c: [1, {d: 2}]\n", "f.yaml")
    assert [document.body for document in documents] == [{"a": 1}, {"b": {"c": [1, {"d": 2}]}}]
    assert [document.location.line for document in documents] == [4, 7]
    place = documents[1].locate("b", "c", 1, "d")
    assert (place.line, place.column, place.path) == (8, 11, "/b/c/1/d")


def test_locate_stops_at_the_nearest_parent() -> None:
    [document] = read_text("a:\n  b: 1\n", "f.yaml")
    assert str(document.locate("a", "x", "y")) == "f.yaml:1:1"
    assert document.locate("a", "x").path == "/a"
    assert str(document.locate("q")) == "f.yaml:1"


def test_locate_names_the_key_that_counts_where_one_stands_twice() -> None:
    [document] = read_text("a: 1\na: 2\n", "f.yaml")
    assert document.locate("a").line == 2


WRONG: list[tuple[str, str]] = [
    ("a: [1", "f.yaml:2:1: is not YAML: did not find expected ',' or ']'"),
    ("\ta: b", "f.yaml:1:1: is not YAML"),
    ("a: *x", "f.yaml:1:4: unknown alias '*x'"),
    ("a: &a [*a]", "f.yaml:1:8: anchor '&a' contains itself"),
    ("a: .nan", "f.yaml:1:4: '.nan' has no counterpart in JSON"),
    ("? [a]\n: b", "f.yaml:1:3: a key must be"),
    ("~: b", "f.yaml:1:1: a key must be"),
    ("<<: 1", "f.yaml:1:5: a merge key"),
    ("a: !!binary '?'", "f.yaml:1:4: !!binary value is not base64"),
    ("a: !!binary aGk\u65e5=", "f.yaml:1:4: !!binary value is not base64"),
    ("a: \x00", "f.yaml: is not text"),
    ("a: é\nb: é\x01", "f.yaml:2:5: is not YAML: it holds the control character U+0001"),
    ("[" * (MAX_DEPTH + 1), f"f.yaml:1:{MAX_DEPTH + 1}: is nested deeper"),
    ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "f.yaml:1: is nested deeper"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_input_is_one_line_with_its_place(text: str, message: str) -> None:
    error = error_of(InputError, read_text, text, "f.yaml")
    assert str(error).startswith(message)
    assert "\n" not in str(error)


@from_table("text", "hint")
def test_hints_of_what_is_no_yaml(text: str, hint: str | None) -> None:
    error = error_of(InputError, read_text, text, "f.yaml")
    assert error.hint is None if hint is None else hint in (error.hint or "")


def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(InputError, match=f"more than {MAX_ALIASED} values"):
        read_text("\n".join(lines))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: \xff")
    for path, problem in (
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path, "is a folder"),
        (latin, "is not UTF-8"),
    ):
        with pytest.raises(InputError, match=problem):
            read_file(path)


def test_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_file(path)[0].body == {"a": 1}


def test_lists_are_opened_and_keep_each_items_place() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: web}}\n"
        "- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n"
        "- apiVersion: v1\n  kind: List\n  items:\n"
        "  - {apiVersion: v1, kind: Pod, metadata: {name: c}}\n"
    )
    found = resources(read_text(text, "f.yaml"))
    assert [(r.kind, r.name, r.namespace, r.location.line) for r in found] == [
        ("Pod", "a", "web", 4),
        ("Pod", "b", "", 5),
        ("Pod", "c", "", 9),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "is not a Kubernetes object"),
        ("kind: Pod", "has no 'apiVersion'"),
        ("apiVersion: v1\nkind: 5", "f.yaml:2:1: has no 'kind'"),
        ("apiVersion: v1\nkind: List\nitems: [1]", "f.yaml:3:9: is not a Kubernetes object"),
        ("apiVersion: v1\nkind: List\nitems: {a: b}", "f.yaml:3:1: is not a list"),
        *(
            (
                f"apiVersion: v1\nkind: List\nitems: [{{apiVersion: {version}, kind: {kind}}}]",
                "f.yaml:3:9: is not a Kubernetes object",
            )
            for wrong in ("{a: b}", "[a]", "5", "true", "null", "''")
            for version, kind in ((wrong, "Pod"), ("v1", wrong))
        ),
    ],
)
def test_what_is_no_object_is_refused(text: str, message: str) -> None:
    assert message in str(error_of(InputError, resources, read_text(text, "f.yaml")))


def test_document_reader_a_key_that_stands_twice() -> None:
    text = (
        "a: 1\n---\nb:\n  - {x: &x {c: 1}, y: *x}\n  - <<: *x\n    <<: {d: 1}\n  - c: 1\n    c: 2\n"
    )
    first, second = read_text(text, "f.yaml")
    assert first.repeated_key() is None
    place = second.repeated_key()
    assert place is not None
    assert (str(place), place.path) == ("f.yaml:8:5", "/b/2/c")


@pytest.mark.parametrize("text", ["", "# a comment\n", "\n\n"])
def test_a_text_without_a_document_has_no_fields(text: str) -> None:
    document = Document({}, Source("values.yaml", text), Extent(0, len(text), 1))
    assert str(document.locate("config", "webhooks")) == "values.yaml:1"


def test_json_objects_one_after_another_are_documents_with_places() -> None:
    text = '\n{"a": 1}\n\n{"b": {"c": [1,\n2]}}{"d": "\\u00e9\\ud800"}\n'
    first, second, third = read_text(text, "f.ndjson")
    assert [each.body for each in (first, second, third)] == [
        {"a": 1},
        {"b": {"c": [1, 2]}},
        {"d": "é\ufffd"},
    ]
    assert [each.location.line for each in (first, second, third)] == [2, 4, 5]
    assert str(second.locate("b", "c", 1)) == "f.ndjson:5:1"
    assert str(third.locate("d")) == "f.ndjson:5:6"
    assert str(first.locate("a")) == "f.ndjson:2:2"


@pytest.mark.parametrize("text", ['{"a": 1}\n{"b": 2', '{"a": 1}\n[1]\n', '{"a": 1} x'])
def test_what_is_no_sequence_of_objects_is_refused_as_before(text: str) -> None:
    with pytest.raises(InputError, match=r"f:[12]:.*is not YAML"):
        read_text(text, "f")


def test_a_number_that_json_lacks_has_its_place_in_a_sequence() -> None:
    with pytest.raises(InputError, match="'1e999' is not a number of JSON"):
        read_text('{"a": 1}\n{"b": 1e999}\n', "f")
