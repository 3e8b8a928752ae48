"""Leaves: the fields of a request that a policy looks at, each with the values to try there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import (
    CLUSTER,
    EACH,
    GLOBAL,
    IMAGE,
    Lookup,
    Path,
)
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.go.duration import DurationError, format_duration, parse_duration
from chartkit.go.strconv import mark_literals
from chartkit.model import Json


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place of a request that a policy looks at, and the values to try there.

    values: those that meet it first, as far as that is known; met: how many of them meet it; group:
    the rule or expression that it belongs to; legacy: which form it was read from; lookup: the
    objects of the cluster that the place is in, where the policy looks them up.
    """

    path: Path
    values: tuple[Json, ...]
    group: str
    met: int = 0
    legacy: bool = True
    lookup: Lookup | None = None


Note = Callable[[Path, Iterable[Json]], None]
"""Takes a place that an expression looks at, and the literals that it is compared with."""

_OBJECT: Final[Path] = ("object",)
_RENAMED: Final[dict[Path, Path]] = {
    ("request", "object"): _OBJECT,
    ("request", "oldObject"): ("oldObject",),
    ("request", "userInfo"): ("userInfo",),
    ("request", "operation"): ("operation",),
    ("request", "roles"): ("roles",),
    ("request", "clusterRoles"): ("clusterRoles",),
    ("request", "namespace"): ("object", "metadata", "namespace"),
    ("request", "name"): ("object", "metadata", "name"),
    ("namespaceObject", "metadata", "labels"): ("namespaceLabels",),
    ("namespaceObject", "metadata", "name"): ("object", "metadata", "namespace"),
    ("serviceAccountName",): ("userInfo", "username"),
    ("serviceAccountNamespace",): ("userInfo", "username"),
}
_ROOTS: Final = frozenset(
    (
        *("object", "oldObject", "userInfo", "operation", "roles", "clusterRoles"),
        *("namespaceLabels", CLUSTER, GLOBAL, IMAGE),
    )
)
_ACCOUNT: Final = "system:serviceaccount:"
_ALIKE: Final = "oidc-user-of-a-company"
"""The beginning of a user's name, as long as the prefix of service accounts."""
_TEXTS: Final[dict[Path, int]] = {
    ("userInfo", "username"): 2,
    ("userInfo", "uid"): 2,
    ("userInfo", "groups"): 3,
    **dict.fromkeys((("roles",), ("clusterRoles",), ("namespaceLabels",)), 2),
    ("operation",): 1,
}
"""By place of a request: the longest path there, to a text."""
_REFERENCES: Final = frozenset(
    (IMAGE, part) for part in ("image", "registry", "repository", "identifier", "resolvedImage")
)
"""Parts of a registry's answer that the reference decides."""
_IMAGES: Final = ("containers", "initContainers", "ephemeralContainers")


def place(path: Path) -> tuple[Path, ...]:
    """Return the places of a case's document that a path of an expression is about."""
    if path[:1] == (CLUSTER,) and path[2:3] == ("items",):
        path = (*path[:2], *path[3:])
    for length in (3, 2, 1):
        renamed = _RENAMED.get(path[:length])
        if renamed is not None:
            return (_of_texts((*renamed, *path[length:])),)
    if path[:2] == (IMAGE, "configData"):
        path = (IMAGE, "config", *path[2:])
    if path[:1] == ("images",) or path[:2] in _REFERENCES:
        lists = [image for image in _IMAGES if image in path[1:2]] or _IMAGES
        return tuple(("object", "spec", one, EACH, "image") for one in lists)
    return (_of_texts(path),) if path and path[0] in _ROOTS else ()


def _of_texts(path: Path) -> Path:
    """Return the place of a request that a path is about: what is in it but objects is text."""
    longest = _TEXTS.get(path[:2], _TEXTS.get(path[:1], len(path)))
    return path[:longest]


def compared(path: Path, literals: Iterable[Json]) -> list[Json]:
    """Return the values of a place that come to literals which a part of it is compared with."""
    if path == ("serviceAccountName",):
        return [
            name for one in literals for name in (f"{_ACCOUNT}default:{one}", f"{_ALIKE}:{one}")
        ]
    if path == ("serviceAccountNamespace",):
        return [name for one in literals for name in (f"{_ACCOUNT}{one}:app", f"{_ALIKE}{one}:app")]
    if path[:1] == ("images",) or path[:2] in _REFERENCES:
        return [_image(str(path[-1]), literal) for literal in literals]
    return list(literals)


def _image(part: str, text: Json) -> str:
    if part == "registry":
        return f"{text}/app:1.0"
    if part == "tag":
        return f"registry.example/app:{text}"
    if part == "digest":
        return f"registry.example/app@{text}"
    if part in ("image", "reference", "referenceWithTag"):
        return str(text)
    return f"registry.example/{text}:1.0"


_NUMBER: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)([A-Za-z]*)", re.ASCII)
_RANGE: Final = re.compile(
    r"([+-]?\d+(?:\.\d+)?[A-Za-z]*)!?-([+-]?\d+(?:\.\d+)?[A-Za-z]*)", re.ASCII
)
_PREFIXES: Final = (">=", "<=", ">", "<", "!")
_SUFFIXES: Final = frozenset(("", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
_LONGEST_NUMBER: Final = 40
"""Characters: a longer text is beyond the numbers of CEL and JSON."""
MOST: Final = 14
"""The most values of one literal."""
MOST_VALUES: Final = 40
"""The most values that meet a place, and as many others."""


def around(value: Json) -> list[Json]:
    """Return values around a literal, the literal first; other types of it last."""
    if isinstance(value, bool):
        return [value, not value]
    if isinstance(value, int | float):
        return [value, value + 1, value - 1, 0, value * 2]
    if isinstance(value, str):
        return list(_unique(around_text(value)))[:MOST]
    return [value]


_NOTHING: Final = object()


def around_all(literals: Iterable[Json]) -> list[Json]:
    """Return literals, and then values around each of them in turns."""
    return in_turns(map(around, literals))


def in_turns(rows: Iterable[Iterable[Json]]) -> list[Json]:
    """Return the first of each row, then the second of each, and so on."""
    columns = zip_longest(*rows, fillvalue=_NOTHING)
    return [value for column in columns for value in column if value is not _NOTHING]


def around_text(text: str) -> Iterator[str]:
    """Yield texts around one, which may be a wildcard, quantity or duration."""
    if "*" in text or "?" in text:
        yield text.replace("*", "x").replace("?", "a")
        if text == "*":
            yield text
        yield text.replace("*", "").replace("?", "a")
        yield text.replace("*", "X-1.y").replace("?", "b")
        yield text.replace("*", "1").replace("?", "1")
        bare = text.replace("*", "").replace("?", "")
        if bare:
            yield f"x{bare}x"
        yield from ("unlike", "")
        return
    yield text
    yield from _measured(text)
    if text:
        yield text.swapcase()
        yield f"{text}x"
        yield f"x{text}"
        yield text[:-1]
    yield "unlike"


def _measured(text: str) -> Iterator[str]:
    """Yield quantities, durations and numbers next to one."""
    match = _NUMBER.fullmatch(text)
    if match and match[2] in _SUFFIXES:
        number, suffix = Decimal(match[1]), match[2]
        yield f"{number + 1}{suffix}"
        yield f"{number - 1}{suffix}"
        for other in ("m", "Ki", "Mi", "Gi"):
            if suffix and other != suffix:
                yield f"{number}{other}"
        if suffix.endswith("i"):
            yield (
                f"{number * 1024}{'KMGTPE'['KMGTPE'.index(suffix[0]) - 1]}i"
                if suffix != "Ki"
                else f"{number * 1024}"
            )
        yield str(number)
    try:
        nanoseconds = parse_duration(text)
    except DurationError:
        return
    yield format_duration(nanoseconds + 1_000_000_000)
    yield format_duration(max(nanoseconds - 1_000_000_000, 0))
    yield format_duration(nanoseconds * 60)


def of_pattern(pattern: Json) -> tuple[list[Json], list[Json]]:
    """Return the values around a scalar of a pattern that it takes, and those that it refuses."""
    holds = compile_scalar(mark_literals([pattern])[0])
    met: list[Json] = []
    missed: list[Json] = []
    for value in _unique(in_turns(_of_pattern(pattern))):
        (met if holds(mark_literals([value])[0]) else missed).append(value)
    return met[:MOST_VALUES], missed[:MOST_VALUES]


def _of_pattern(pattern: Json) -> Iterator[Iterable[Json]]:
    """Yield the values around each operand of a pattern."""
    if not isinstance(pattern, str):
        yield around(pattern) if pattern is not None else [0, 1, "", "x"]
        return
    for either in pattern.split("|"):
        for part in either.split("&"):
            operand = part.strip()
            match = _RANGE.fullmatch(operand)
            if match:
                yield from (_scalars(match[1]), _scalars(match[2]))
                continue
            prefix = next((one for one in _PREFIXES if operand.startswith(one)), "")
            yield _scalars(operand[len(prefix) :].strip())


def _scalars(text: str) -> Iterator[Json]:
    """Yield texts around one and what they are as numbers and booleans."""
    yield from around_text(text)
    for one in tuple(around_text(text)):
        if one in ("true", "false"):
            yield one == "true"
        match = _NUMBER.fullmatch(one)
        if match and not match[2] and len(one) <= _LONGEST_NUMBER:
            yield float(one) if "." in one else int(one)
    if text in ("true", "false"):
        yield text != "true"


def _unique(values: Iterable[Json]) -> Iterator[Json]:
    seen = set()
    for value in values:
        key = (type(value), str(value))
        if key not in seen:
            seen.add(key)
            yield value


_CLASSES: Final = {"d": "1", "w": "a", "s": " ", "D": "x", "W": "-", "S": "x", "b": "", "B": ""}
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r"}
_REPEATED: Final = re.compile(r"\{(\d+)(?:,\d*)?\}\??|[*+?]\??")
_GROUP: Final = re.compile(r"\?(?:P?<\w+>|[imsU-]*:)")
_DEPTH: Final = 50


def matching(pattern: str) -> list[str]:
    """Return samples of an expression's alternatives, then texts that it may not match."""
    samples = [one for one in _samples(pattern) if _matches(pattern, one)]
    unlike = [f"{sample}!" for sample in samples[:2]] + [one[:-1] for one in samples[:2] if one]
    return [*dict.fromkeys((*samples[:6], *unlike, "", "unlike"))]


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _samples(pattern: str) -> Iterator[str]:
    for branch in _branches(pattern):
        yield _Sampler(branch, least=False).text()
        yield _Sampler(branch, least=True).text()


def _branches(pattern: str) -> list[str]:
    """Return the alternatives of an expression's outermost group."""
    found, start, depth, at = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "|" and depth == 0:
            found.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*found, pattern[start:]]


class _Sampler:
    """Makes a text from one alternative; least: whether what may be left out is."""

    def __init__(self, pattern: str, *, least: bool, depth: int = 0) -> None:
        self._pattern = pattern
        self._least = least
        self._depth = depth
        self._at = 0

    def text(self) -> str:
        made = ""
        while self._at < len(self._pattern):
            piece = self._piece()
            made += piece * self._times()
        return made

    def _times(self) -> int:
        match = _REPEATED.match(self._pattern, self._at)
        if match is None:
            return 1
        self._at = match.end()
        if match[1] is not None:
            return min(int(match[1]), 64)
        return 1 if match[0][0] == "+" or not self._least else 0

    def _piece(self) -> str:
        char = self._pattern[self._at]
        self._at += 1
        if char == "\\":
            escaped = self._pattern[self._at : self._at + 1]
            self._at += 1
            return _CLASSES.get(escaped, _CONTROL.get(escaped, escaped))
        if char == "(":
            start, depth = self._at, 1
            while self._at < len(self._pattern) and depth:
                char = self._pattern[self._at]
                if char == "\\":
                    self._at += 1
                depth += {"(": 1, ")": -1}.get(char, 0)
                self._at += 1
            inner = _GROUP.sub("", self._pattern[start : self._at - 1], count=1)
            if self._depth > _DEPTH:
                return ""
            branch = _branches(inner)[0]
            return _Sampler(branch, least=self._least, depth=self._depth + 1).text()
        if char == "[":
            end = self._pattern.find("]", self._at + 1)
            end = len(self._pattern) if end < 0 else end
            content = self._pattern[self._at : end]
            self._at = end + 1
            if not content.startswith("^"):
                if content[:1] == "\\":
                    return _CLASSES.get(content[1:2], content[1:2])
                return content[:1]
            refused = content[1:]
            return next((char for char in "x1-_/ " if not re.search(f"[{refused}]", char)), "x")
        if char == ".":
            return "x"
        return "" if char in "^$" else char
