"""Feeds texts that a fuzzer makes to CEL's parser, checker and compiler, until one breaks them.

    python tools/fuzz_cel.py [CORPUS FOLDER] [-max_total_time=600]

Needs `atheris` beside chartkit's own requirements (see docs/background/fuzzers-and-clusters.md). A
text may have a value or be refused; any other exception, and a tree whose text gives another tree,
is a finding: the fuzzer stops, shows it and writes the input to a file `crash-…` in the current
folder.
"""

from __future__ import annotations

import sys
from typing import Final

import atheris

with atheris.instrument_imports(include=["chartkit.engine.cel"]):
    from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, compile_expression
    from chartkit.engine.cel.parser.entry import parse
    from chartkit.engine.cel.syntax import unparse

ENVIRONMENT: Final = ENVIRONMENTS["vpol"]
WORDS: Final = (
    *("object", "oldObject", "request", "namespaceObject", "variables", "a", "b", "x", "y", "in"),
    *("true", "false", "null", "0", "1", "-1", "2u", "1.5", "9223372036854775807", "1e300"),
    *("'a'", "''", "b'a'", "r'\\d+'", "'''a'''", "`a b`", "'%s%d'", "'1Gi'", "'1.2.3'", "'5m'"),
    *("[", "]", "{", "}", "(", ")", ".", ",", ":", "?", "!", "-", "+", "*", "/", "%", "&&", "||"),
    *("==", "!=", "<", "<=", ">", ">=", ".?", "[?", " ", "\n", "//", "\\", "'", '"', "é", "#"),
    *("has(", "size(", "type(", "dyn(", "string(", "int(", "duration(", "timestamp(", "quantity("),
    *(".all(x, ", ".exists(y, ", ".map(x, ", ".filter(x, ", ".transformMap(x, y, ", ".sortBy(x, "),
    *("cel.bind(x, ", ".optMap(x, ", ".orValue(", "math.greatest(", "optional.of(", ".format(["),
    *(".matches(", ".replace(", ".split(", ".join(", "lists.range(", "sets.contains(", "semver("),
)
OBJECT: Final = {"a": 1, "b": [1, "a", None], "x": {"y": 2.5, "in": True}}


def expression(data: bytes) -> str:
    """The text for some bytes: words for the most of them, or the bytes as they are."""
    if data[:1] == b"\xff":
        return data[1:].decode("utf-8", "replace")
    return "".join(WORDS[byte % len(WORDS)] for byte in data)


def check_text(source: str) -> None:
    """A text that parses comes back from its tree."""
    parsed = parse(source, ENVIRONMENT)
    text = unparse(parsed.root, parsed.macro_calls)
    again = parse(text, ENVIRONMENT)
    second = unparse(again.root, again.macro_calls)
    if second != text:
        raise AssertionError(f"{source!r} became {text!r} and then {second!r}")


def one_input(data: bytes) -> None:
    """Parses, checks, compiles and evaluates one text."""
    source = expression(data)
    try:
        check_text(source)
        compile_expression(source, ENVIRONMENT).evaluate({"object": OBJECT})
    except (CelCompileError, CelError):
        return


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
