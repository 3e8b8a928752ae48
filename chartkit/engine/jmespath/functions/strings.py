"""Functions on text."""

from __future__ import annotations

import posixpath

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import (
    ARRAY_OF_STRINGS,
    BOOLEAN,
    NUMBER,
    STRING,
    function,
)
from chartkit.engine.jmespath.errors import function_error
from chartkit.go import letters
from chartkit.go.int64 import Int64
from chartkit.go.strconv import truncate_to_int64


@function(
    "compare",
    STRING,
    STRING,
    returns=NUMBER,
    doc="-1, 0 or 1: whether the first text sorts before, with or after the second.",
    example="compare('a', 'b')",
)
def compare(first: str, second: str) -> Int64:
    # Kyverno's result is Go's int, which equals no number of the language.
    return Int64((first > second) - (first < second))


@function(
    "equal_fold",
    STRING,
    STRING,
    returns=BOOLEAN,
    doc="Whether two texts are equal but for upper and lower case.",
    example="equal_fold('Go', 'GO')",
)
def equal_fold(first: str, second: str) -> bool:
    return letters.equal_fold(first, second)


@function(
    "replace",
    STRING,
    STRING,
    STRING,
    NUMBER,
    returns=STRING,
    counts=True,
    doc="Replaces so many occurrences of a text; all of them where the number is negative.",
    example="replace('a-b-c', '-', '.', `1`)",
)
def replace(budget: Budget, text: str, old: str, new: str, count: float) -> str:
    most = max(-1, truncate_to_int64(count))
    found = text.count(old)
    made = found if most < 0 else min(found, most)
    budget.take(len(text) + made * len(new), "replace()")
    return text.replace(old, new, most)


@function(
    "replace_all",
    STRING,
    STRING,
    STRING,
    returns=STRING,
    counts=True,
    doc="Replaces every occurrence of a text.",
    example="replace_all('a-b-c', '-', '.')",
)
def replace_all(budget: Budget, text: str, old: str, new: str) -> str:
    budget.take(len(text) + text.count(old) * len(new), "replace_all()")
    return text.replace(old, new)


@function(
    "to_upper",
    STRING,
    returns=STRING,
    doc="The text in upper case.",
    example="to_upper('abc')",
)
def to_upper(text: str) -> str:
    return letters.to_upper(text)


@function(
    "to_lower",
    STRING,
    returns=STRING,
    doc="The text in lower case.",
    example="to_lower('ABC')",
)
def to_lower(text: str) -> str:
    return letters.to_lower(text)


@function(
    "trim",
    STRING,
    STRING,
    returns=STRING,
    doc="The text without the second one's characters at both ends.",
    example="trim('--a--', '-')",
)
def trim(text: str, characters: str) -> str:
    return text.strip(characters)


@function(
    "trim_prefix",
    STRING,
    STRING,
    returns=STRING,
    doc="The text without a prefix, where it has it.",
    example="trim_prefix('v1.2.3', 'v')",
)
def trim_prefix(text: str, prefix: str) -> str:
    return text.removeprefix(prefix)


@function(
    "split",
    STRING,
    STRING,
    returns=ARRAY_OF_STRINGS,
    doc="The parts of a text between the occurrences of another.",
    example="split('a,b,c', ',')",
)
def split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


@function(
    "starts_with",
    STRING,
    STRING,
    returns=BOOLEAN,
    doc="Whether a text begins with another.",
    example="starts_with(request.object.metadata.name, 'kube-')",
)
def starts_with(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


@function(
    "ends_with",
    STRING,
    STRING,
    returns=BOOLEAN,
    doc="Whether a text ends with another.",
    example="ends_with(request.object.metadata.name, '-prod')",
)
def ends_with(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


@function(
    "truncate",
    STRING,
    NUMBER,
    returns=STRING,
    doc="The first characters of a text.",
    example="truncate(request.object.metadata.name, `9`)",
)
def truncate(text: str, length: float) -> str:
    return text[: max(0, truncate_to_int64(max(length, 0)))]


@function(
    "to_boolean",
    STRING,
    returns=BOOLEAN,
    doc="The boolean that the texts true and false stand for, in any case of letters.",
    example="to_boolean('True')",
)
def to_boolean(text: str) -> bool:
    lower = letters.to_lower(text)
    if lower not in ("true", "false"):
        expected = "lowercase argument must be 'true' or 'false'"
        raise function_error("to_boolean", f"{expected} (provided: '{text}')")
    return lower == "true"


@function(
    "path_canonicalize",
    STRING,
    returns=STRING,
    doc="A path without `.`, `..` and doubled slashes.",
    example="path_canonicalize('/var//lib/../run')",
)
def path_canonicalize(path: str) -> str:
    if not path:
        return ""
    # POSIX keeps two leading slashes apart from one; Go does not.
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean
