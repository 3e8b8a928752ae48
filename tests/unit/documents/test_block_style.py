"""YAML read line by line is read as libyaml reads it."""

import random
from pathlib import Path

import pytest

from chartkit.documents import block_style
from chartkit.documents.block_style import read_documents
from chartkit.documents.places import extents
from chartkit.documents.yaml_builder import BuiltDocument, build_documents
from chartkit.errors import InputError

_ROOT = Path(__file__).parents[3]
_POD = (_ROOT / "profiles/policies/baseline/disallow-host-path/bad.yaml").read_text("utf-8")
_TEXTS = (
    "a: |\n  x\n   y\n\n  z\n\n\nb: >-\n  one\n  two\n\n\n  three\n# c\nc: |-\n  - a: b\n",
    "a: |\n  no line end",
    "a: |\n",
    "a: |\n\n  x\n",
    "a: >\n  x\n    y\n",
    "- a: |\n   x\n  b: c\n",
    "- a: |\n x\n",
    "- |\n x\n- >-\n x\n y\n",
    "a:\n- b\n-  c: d\n   e: f\n- {}\ng: []\nh:\ni: ~\n",
    "a:\n  - b\n  c: d\n",
    "a: b\n  c\n",
    "a: b\n  c: d\n",
    "a: b # c\nc: 'it''s' # d\ne: \"a\\tb\" \nf: x#y\n",
    "a: 'b' c\n",
    'a: "\\x41\\/"\n',
    "a: 010\nb: 0x1F\nc: 1_000\nd: .5\ne: yes\nf: null\ng: 1e3\nh: 2001-01-01\ni: -1\nj: -a\n",
    "a: .inf\n",
    "yes: 1\n1: 2\n~: 3\n",
    "a: 1\na: {}\nb: 2\na:\n  c: 3\n",
    "a: [b, 1, 'c, d', \"e: f\", -g]\nb: {c: d, e: 010}\nc: [ a,b ] # c\n- [a]\n",
    "- [a]\n- {b: yes}\n- [a: b]\n",
    "a: {b: 1, b: 2, true: 3}\n---\na: [b,]\n---\na: [[b]]\n---\na: [b, *c]\n---\na: {b}\n",
    "a: [.inf]\n",
    "a: &x 1\nb: *x\n",
    "<<: {a: 1}\n",
    "a: b: c\n",
    "a: b:\n",
    "a: - b\n",
    "- - a\n- -\n",
    "---# c\na: 1\n",
    "--- # c\na: 1\n---\n# nothing\n---   \nb: 2\n--- {c: 3}\n--- text\n---\n",
    "%YAML 1.1\n---\na: 1\n",
    "a: 1\n...\n---\nb: 2\n...\n",
    "# c\n\n  a: 1\n  b: 2\n",
    "items:\n- a: 1\n\n# c\n- b: 2\n  items:\n  - c\nkind: List\n---\nitems:\n  # c\n  - d\n",
    "items: []\n---\nitems:\n- a\nother:\n- b\n",
    "a:\tb\n",
    "a: 1\rb: 2\n---\nc: 3\n",
    "é: ü\nb: ü # ä\n---\nc: \u2028\n---\nd: 1\n",
    "a: \x07\n",
    "# \x00\n",
    "a: 1\n---\nb: [\n",
    "\n".join(f"{' ' * depth}a:" for depth in range(260)),
    "a: [\u2028 b]\n---\nc: d\n",
)


def _outcome(read: list[BuiltDocument], text: str) -> object:
    places = extents(text, read)
    return [
        (repr(each.body), place.start, place.end, place.line, [*place.items])
        for each, place in zip(read, places, strict=True)
    ]


def _of_libyaml(text: str) -> object:
    try:
        read = [each for each in build_documents(text, "f") if each.body is not None]
    except InputError as error:
        return error.message, error.location, error.hint
    return _outcome(read, text)


def _by_lines(text: str) -> object:
    try:
        return _outcome(read_documents(text, "f"), text)
    except InputError as error:
        return error.message, error.location, error.hint


@pytest.mark.parametrize("text", _TEXTS)
def test_a_text_is_read_as_libyaml_reads_it(text: str) -> None:
    assert _by_lines(text) == _of_libyaml(text)


def test_files_of_this_repository_are_read_as_libyaml_reads_them() -> None:
    for file in sorted((_ROOT / "profiles" / "policies").glob("*/*/*.yaml"))[::4]:
        text = file.read_text("utf-8")
        assert _by_lines(text) == _of_libyaml(text), file


def test_changed_texts_are_read_as_libyaml_reads_them() -> None:
    pick = random.Random(1)
    pieces = (
        *"'\"#:-|>{}[]&*!?\t~\\\r\x85\u2028",
        " #",
        ": ",
        "---",
        "...",
        "null",
        "- ",
        "  ",
        "\n",
        "|\n  x",
    )
    whole = "".join(_TEXTS[:5]) + _POD
    for _ in range(1500):
        at = pick.randrange(len(whole))
        text = whole[at : at + pick.randrange(20, 200)]
        for _ in range(pick.randrange(3)):
            cut = pick.randrange(len(text))
            text = text[:cut] + pick.choice(pieces) + text[cut + pick.randrange(2) :]
        text += "\n---\na: 1\n"
        assert _by_lines(text) == _of_libyaml(text), text


def test_libyaml_reads_only_the_documents_that_are_of_another_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def building(text: str, file: str, lines: int = 0) -> object:
        asked.append(text)
        return build_documents(text, file, lines)

    monkeypatch.setattr(block_style, "build_documents", building)
    found = [each.body for each in read_documents(f"{_POD}\n---\na: &x [1, 2]\n---\n{_POD}", "f")]
    assert asked == ["---\na: &x [1, 2]\n"]
    middle = len(found) // 2
    assert found[middle] == {"a": [1, 2]}
    assert found[:middle] == found[middle + 1 :] != []
