"""Files in slices hold the documents, places and mistakes that they hold as a whole."""

import json
import mmap
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import Document, read_file, resources
from chartkit.errors import InputError
from chartkit.model import Resource
from chartkit.scan.parallel import partition
from chartkit.scan.parallel.partition import NotAList, Slice, parts, sliced
from tests.draws import draws
from tests.errors import error_of

NOTHING = (re.compile(rb"(?!)"),)

_DOCUMENTS = st.sampled_from(
    [
        "a: 1\n",
        "# only a comment\n",
        "",
        "{flow: [1, 2], b: {c: d}}\n",
        "text: |+\n  lines\n\n  --- no mark\n\n",
        "text: >-\n  folded\n  --- x\n",
        'quoted: "one\n  two"\nb: 2\n',
        "anchor: &a {x: 1}\nalias: *a\n",
        "items:\n- a: 1\n-   b: 2\n- |\n  ---\n",
        "ä: ö\u2028ü\n",
        "- 1\n- 2\n...\n",
        "x:\r\n  y: 1\r\n",
        "--- scalar\n",
        "---{}\n",
    ]
)
_MARKS = st.sampled_from(["---\n", "--- # comment\n", "---\r\n", "--- \n", "...\n---\n", "---\t\n"])
_TEXTS = st.lists(st.tuples(_DOCUMENTS, _MARKS), min_size=1, max_size=12).map(
    lambda pairs: "".join(document + mark for document, mark in pairs)
)


def _read(file: Path) -> list[Document]:
    found = [each for each, _, _ in sliced(str(file), 0, is_named=True, shared=NOTHING)]
    return [document for each in found for document in each.read()]


def _facts(documents: list[Document]) -> list[object]:
    """The values of documents, and all that is asked about their places."""
    return [
        (
            each.body,
            str(each.location),
            [
                (str(place), place.path, each.excerpt(place.line))
                for path in (("x", "y"), ("items", 1), ("items", 1, "b"), ("text",), ("missing",))
                for place in (each.locate(*path),)
            ],
        )
        for each in documents
    ]


@given(_TEXTS, st.integers(1, 40))
@draws(300)
def test_slices_hold_what_the_file_holds(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    file = tmp_path_factory.mktemp("slices") / "file.yaml"
    file.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", size)
        assert _outcome(_read, file) == _outcome(read_file, file)


def _outcome(read: Callable[[Path], list[Document]], file: Path) -> object:
    try:
        return _facts(read(file))
    except InputError as error:
        return str(error.location), error.message


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\na: 1\n---\nb: 2\n", '{"a": 1}\n---\n{"b": 2}\n'])
def test_what_cannot_be_cut_is_one_slice(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", 4)
        found = [each for each, _, _ in sliced(str(file), 0, is_named=True, shared=NOTHING)]
    assert found == [Slice(str(file), 0, is_named=True)]


def test_slices_cover_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("".join(f"a: {number}\n---\n" for number in range(100)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", 50)
        found = [each for each, _, _ in sliced(str(file), 0, is_named=True, shared=NOTHING)]
    spans = [(each.start, each.end) for each in found]
    assert len(spans) > 10
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (0, file.stat().st_size)


def test_small_files_share_a_part() -> None:
    slices = [(Slice(f"{number}.yaml", 0, is_named=False), 100_000, False) for number in range(7)]
    found = list(parts(slices))
    assert [len(each.slices) for each in found] == [2, 2, 2, 1]
    assert [each.number for each in found] == [0, 1, 2, 3]


def test_mistake_names_its_line_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("a: 1\n---\n" * 30 + 'a: "open\n---\n' + "a: 1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", 50)
        with pytest.raises(InputError) as part:
            _read(file)
    assert str(part.value) == str(error_of(InputError, read_file, file))


_ITEMS: list[dict[str, object]] = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "items": [{"x": 1}, {"y": 2}]},
    {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "- a\n\n- b\n\n\n", "q": "x,"}},
    {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ä": "ö\u2028", "n": "1.0", "e": ""}},
    {"kind": "Secret", "apiVersion": "v1", "list": [[1, [2]], {"kind": "x"}], "end": None},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"items": "- x"}}, "z": "plain"},
]


def _list_text(items: list[dict[str, object]], is_json: bool, metadata: dict[str, str]) -> str:
    body = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": metadata}
    if is_json:
        return json.dumps(body, indent=4, ensure_ascii=False) + "\n"
    # Equal items are written out, not as aliases.
    text = yaml.safe_dump(
        json.loads(json.dumps(body)), allow_unicode=True, default_flow_style=False
    )
    assert "\nitems:\n- " in text
    return text


def _placed(found: list[Resource]) -> list[object]:
    """Objects with their places, and those of their fields."""
    pointers = ("", "/metadata/name", "/data/text", "/list/1/kind", "/items/1/y", "/missing/x")
    return [
        (each.body, str(place), place.path, place.places and place.places.excerpt(place.line))
        for each in found
        for place in (each.location, *map(each.location.within, pointers))
    ]


@pytest.mark.parametrize("is_json", [False, True], ids=["yaml", "json"])
@given(st.lists(st.sampled_from(_ITEMS), min_size=2, max_size=9), st.integers(1, 600))
@draws(60)
def test_slices_of_a_list_hold_its_items(
    tmp_path_factory: pytest.TempPathFactory,
    is_json: bool,
    items: list[dict[str, object]],
    size: int,
) -> None:
    file = tmp_path_factory.mktemp("lists") / "list"
    file.write_text(_list_text(items, is_json, {"resourceVersion": ""}), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", size)
        found = [each for each, _, _ in sliced(str(file), 0, is_named=True, shared=NOTHING)]
        assert len(found) > 1 or size > 50
        objects = [
            each
            for part in found
            for each in (part.listed(part.items) if part.items else resources(part.read()))
        ]
    assert _placed(objects) == _placed(resources(read_file(file)))


def test_cut_within_a_text_shows(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    text = 'apiVersion: v1\nitems:\n- data: "\n- no item\n"\n- data: b\nkind: List\n'
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", 8)
        found = [each for each, _, _ in sliced(str(file), 0, is_named=True, shared=NOTHING)]
    assert found[0].items is not None
    with pytest.raises(NotAList):
        found[0].listed(found[0].items)


def test_list_that_is_not_whole_is_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(_list_text(_ITEMS[:2], is_json=True, metadata={"continue": "x"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "SLICE", 8)
        found = [each for each, _, _ in sliced(str(file), 0, is_named=True, shared=NOTHING)]
    assert found == [Slice(str(file), 0, is_named=True)]


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="this system has no madvise")
def test_pages_that_were_mapped_around_a_part_are_released_with_the_next() -> None:
    class Mapped:
        released: ClassVar[list[tuple[int, int]]] = []

        def madvise(self, option: int, start: int, length: int) -> None:
            assert option == mmap.MADV_DONTNEED
            self.released.append((start, start + length))

    content: Any = Mapped()
    for start, end in ((0, 5000), (5000, 9 << 20), (9 << 20, 10 << 20)):
        partition._release(content, start, end)
    assert content.released == [(0, 5000), (0, 9 << 20), (7 << 20, 10 << 20)]
