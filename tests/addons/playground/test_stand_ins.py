"""The stand-ins answer as the compiled packages do: both are asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import jsonschema
import pytest
import re2
import referencing
import rpds
import yaml
import yaml._yaml
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from chartkit.addons.playground.stand_ins import libyaml
from chartkit.addons.playground.stand_ins import rpds as own_rpds
from chartkit.documents import yaml_dump
from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.go import regexp
from tests.shared import ROOT, shared

_TEXTS: Final = (
    *("", "a", "abc", "aab ABC", "a\nb\n", "foo-bar_1", "k\u212as\u017fS", "\u00df\u1e9e"),
    *(
        "nginx:latest",
        "ghcr.io/acme/app:v1.2.3",
        "\u65e5\u672c \u00e9",
        "\x00\x7f",
        "x\U0001f600y a",
        "a" * 40 + "b",
    ),
)
_PIECES: Final = (
    r"a b k S é . * + ? *? {2} {1,3} {0,2}? {2,} {1001} | ( (?: (?i) (?i: (?m) (?s) (?U)",
    r"(?P<n> (?<m> ) ) ) [ [^ ] - a-c [a-c] [^b] [[:alpha:]] [:digit:] [[:^space:]] \d \W \s",
    r"\pL \PN \p{Lu} \p{^L} \b ^ $ \A \z \Q \E \. \x41 \x{42} \n { } \ \101 , 1 0 (? < > = ! :",
    r"P \_ \C \1",
)
PATTERNS: Final[SearchStrategy[str]] = st.lists(
    st.sampled_from([piece for line in _PIECES for piece in line.split()]), max_size=9
).map("".join)


def answers(pattern: str, texts: tuple[str, ...]) -> object:
    """Return all that chartkit asks of a pattern, or its error."""
    try:
        regex = regexp.compile_regex.__wrapped__(pattern)
    except regexp.RegexError as error:
        return str(error)
    found = [
        (regex.matches(text), list(regex.find_groups(text)), regex.replace(text, "<$1$n>"))
        for text in texts
    ]
    return regex.groups, found


_NODE: Final = """
import { createInterface } from "node:readline";
await import(process.argv[1]);
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(globalThis.chartkitRe2(...JSON.parse(line)) + "\\n");
}
"""


@pytest.fixture(scope="module")
def own_re2(page_module: Path) -> Iterator[Any]:
    """The stand-in of re2, which asks RE2JS in node."""
    command = ("node", "--input-type=module", "-e", _NODE, page_module.as_uri())
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as node:
        assert node.stdin is not None
        assert node.stdout is not None
        given, said = node.stdin, node.stdout

        def asked(*arguments: str) -> str:
            given.write(f"{json.dumps(arguments)}\n")
            given.flush()
            return said.readline()

        with patch.dict(sys.modules, js=SimpleNamespace(chartkitRe2=asked)):
            yield import_module("chartkit.addons.playground.stand_ins.re2")
        given.close()


def both(own_re2: Any, pattern: str, texts: tuple[str, ...]) -> tuple[object, object]:
    """Return the answers of re2 and of its stand-in."""
    expected = answers(pattern, texts)
    with patch.object(regexp, "re2", own_re2):
        return expected, answers(pattern, texts)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a|ab)(c|bcd)(d*)", "(a*)*", "(a*)+", "(|a)+", "(a|b*)*", "((a)|b)*", "(a?)*?b"),
        *("(?:a{500}){500}", "a{1001}", "a**", "*a", "a|*", "(?=a)", "(?<=a)", "(?>a)", r"a\1"),
        *("(?P<n>a", "(?P<>a)", "(?i)(?-", "[b-a]", "[[:no:]]", r"[a-\d]", r"\pX", "a)", "(", "\\"),
        *("(?i)k", "(?i)[^k]", r"(?i)\x{212a}", r"(?i)\P{Lu}", "(?i)ſ", r"(?i)[[:^upper:]]", "ß"),
        *(r"\x{110000}", r"\x{}", r"\xg", r"\08", r"\8", r"\777", r"\Qa.b\E+", "a{,2}", "a{01}"),
        *(
            "(?<!a)",
            "a{2,1}",
            "(?P=n)",
            "[a",
            "(?",
            "(?P<a b>c)",
            r"\p{Greek}+",
            r"\P{Han}",
            "(?z)",
        ),
    ],
)
def test_patterns_read_as_re2_reads_them(own_re2: Any, pattern: str) -> None:
    expected, found = both(own_re2, pattern, _TEXTS)
    assert found == expected


@given(PATTERNS, st.lists(st.text("abkKSsé.1 \n_A\u212a-\U0001f600", max_size=8), max_size=3))
def test_any_pattern_has_the_matches_of_re2(own_re2: Any, pattern: str, texts: list[str]) -> None:
    expected, found = both(own_re2, pattern, tuple(texts))
    # Of a pattern's mistakes one names the first, the other a later one at times.
    assert found == expected or (isinstance(found, str) and isinstance(expected, str))


def test_recorded_expressions_match_alike(own_re2: Any) -> None:
    literals: set[str] = set()
    for name in ("jmespath", "cel", "cel-kyverno"):
        for line in shared(f"conformance/engine/{name}.jsonl").read_text("utf-8").splitlines():
            case = json.loads(line)
            text = case.get("query") or case.get("expr") or ""
            if re.search(r"regex|match|replace|find|extract|random", text):
                literals.update(each[1] for each in re.findall(r"""(['"`])(.*?)\1""", text))
    assert len(literals) > 200
    texts = (*_TEXTS, *sorted(literals)[::40])
    for pattern in sorted(literals):
        expected, found = both(own_re2, pattern, texts)
        assert found == expected


def test_nested_repetition_takes_no_time(own_re2: Any) -> None:
    pattern = own_re2.compile("(?:(?:a+)+)+$")
    assert pattern.search("a" * 20_000 + "b") is None
    assert own_re2.compile("(x+x+)+y").search("x" * 5_000) is None


def test_too_much_of_a_pattern_is_refused(own_re2: Any) -> None:
    deep = "(" * 1_500 + "a" + ")" * 1_500
    for pattern in ("((a{100}){10}){10}", "(?:a{500}){500}", deep, "(" * 5_000):
        with pytest.raises(own_re2.error):
            own_re2.compile(pattern)


def test_options_of_re2(own_re2: Any) -> None:
    for module in (own_re2, re2):
        folded, posix = module.Options(), module.Options()
        folded.case_sensitive = posix.log_errors = False
        posix.posix_syntax = True
        assert module.compile("AbC", folded).search("xabc").span() == (1, 4)
        assert module.compile("(?s)^a.b$").fullmatch("a\nb").group() == "a\nb"
        assert module.compile("a|ab").fullmatch("abc") is None
        assert module.compile("a|ab").fullmatch("ab").span() == (0, 2)
        assert module.compile("[[:alpha:]]", posix).search(b"1b").span() == (1, 2)
        for pattern in (r"\d", "(?i)a"):
            with pytest.raises(module.error):
                module.compile(pattern, posix)


def events(parser: Any) -> object:
    """Return the events of a text with their marks, or the error."""
    found: list[object] = []
    try:
        while (event := parser.get_event()) is not None:
            begin, end = event.start_mark, event.end_mark
            names = ("anchor", "tag", "implicit", "value", "flow_style")
            members = [getattr(event, name, None) or None for name in names]
            # libyaml ends the last line of a text, where nothing stands.
            ends = end.index if event.__class__ is yaml.ScalarEvent else None
            found.append((event.__class__, members, begin.index, ends))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        found.append((error.problem, mark and (mark.line, mark.column)))
    return found


@pytest.mark.slow
def test_this_repository_in_yaml() -> None:
    folders = (ROOT / name for name in ("chartkit", "charts", "examples", "profiles", "tests"))
    files = sorted(file for folder in folders for file in folder.rglob("*.y*ml"))
    assert len(files) > 500
    for file in files[::2]:
        text = file.read_text("utf-8")
        if len(text) < 20_000:
            assert events(libyaml.CParser(text)) == events(yaml._yaml.CParser(text)), file


@pytest.mark.parametrize(
    "text",
    [
        *("a:\tb", "a: b\tc", "{a?: b, c: d?e}", "[a?b, ?c]", "- a\n\t- b", "a: 'b", "a: b: c"),
        *("a: [1, 2", "a: {b: c", "@a", "a:\n- b\n c", "a: *b", "- a\nb: c", "a: |1\n x\n"),
        *("a: &b c\nd: *b", "? a\n: b", "a: \"\\q\"", "---\na\n...\nb", "a: >-\n  b\n\n  c"),
        *("'a': b", "a: b # c", "# only", "", "a: !!binary aGk=", "a: \x85b", "\u2028", "a:\n  b:"),
    ],
)  # fmt: skip
def test_events_of_yaml(text: str) -> None:
    assert events(libyaml.CParser(text)) == events(yaml._yaml.CParser(text))


def test_control_characters_are_refused_in_words_of_libyaml() -> None:
    with pytest.raises(yaml.YAMLError, match="control characters are not allowed"):
        libyaml.CParser("a: \x01")


VALUES: Final[SearchStrategy[Any]] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**40) | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    class Dumper(libyaml.CEmitter, yaml.representer.SafeRepresenter, yaml.resolver.Resolver):
        ignore_aliases = yaml_dump._KubernetesDumper.ignore_aliases
        yaml_representers = yaml_dump._KubernetesDumper.yaml_representers
        yaml_multi_representers = yaml_dump._KubernetesDumper.yaml_multi_representers

        def __init__(self, stream: Any, sort_keys: bool, **options: Any) -> None:
            styles = {name: options.pop(name) for name in ("default_style", "default_flow_style")}
            libyaml.CEmitter.__init__(self, stream, **options)
            yaml.representer.SafeRepresenter.__init__(self, sort_keys=sort_keys, **styles)
            yaml.resolver.Resolver.__init__(self)

    body = {"a": value}
    with patch.object(yaml_dump, "_KubernetesDumper", Dumper):
        text = yaml_dump.dump_yaml(body)
    try:
        expected = read_text(yaml_dump.dump_yaml(body))[0].body
    except InputError:
        return
    assert read_text(text)[0].body == expected


def test_collections_of_rpds() -> None:
    for module in (own_rpds, rpds):
        mapping = module.HashTrieMap({"a": 1})
        assert dict(mapping.insert("b", 2)) == {"a": 1, "b": 2}
        assert dict(mapping.update({"a": 3})) == {"a": 3}
        assert dict(mapping.insert("b", 2).remove("a")) == {"b": 2}
        assert dict(mapping) == {"a": 1}
        assert module.HashTrieMap.convert(mapping) is mapping
        names = module.HashTrieSet().insert("a")
        assert set(names.insert("b").discard("a").discard("c")) == {"b"}
        assert set(names) == {"a"}
        steps = module.List().push_front("a").push_front("b")
        assert list(steps) == ["b", "a"]
        assert (steps.first, list(steps.rest), len(steps)) == ("b", ["a"], 2)


def test_jsonschema_on_the_stand_in() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    with (
        patch.object(referencing._core, "HashTrieMap", own_rpds.HashTrieMap),
        patch.object(referencing._core, "HashTrieSet", own_rpds.HashTrieSet),
        patch.object(jsonschema._types, "HashTrieMap", own_rpds.HashTrieMap),
    ):
        [fault] = jsonschema.Draft202012Validator(schema).iter_errors({"a": "b"})
    assert fault.message == "'b' is not of type 'integer'"
