"""Leaves: the fields of a request that a policy looks at, each with the values to try there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import chain, zip_longest
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import (
    CLUSTER,
    EACH,
    GLOBAL,
    IMAGE,
    Lookup,
    Path,
)
from chartkit.engine.cluster_policy.pattern.scalar import (
    Range,
    compile_scalar,
    read_alternatives,
    read_operation,
)
from chartkit.go import GoError
from chartkit.go.duration import DurationError, format_duration, parse_duration
from chartkit.go.random_text import generate
from chartkit.go.strconv import mark_literals
from chartkit.model import Json


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place of a request that a policy looks at, and the values to try there.

    values: those that meet it first, as far as that is known; met: how many of them meet it; group:
    the rule or expression that it belongs to; lookup: the objects of the cluster that the place is
    in, where the policy looks them up.
    """

    path: Path
    values: tuple[Json, ...]
    group: str
    met: int = 0
    lookup: Lookup | None = None


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
_USER: Final[Path] = ("userInfo", "username")
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
        return tuple(("object", "spec", list_, EACH, "image") for list_ in lists)
    return (_of_texts(path),) if path and path[0] in _ROOTS else ()


def _of_texts(path: Path) -> Path:
    """Return the place of a request that a path is about: what is in it but objects is text."""
    longest = _TEXTS.get(path[:2], _TEXTS.get(path[:1], len(path)))
    return path[:longest]


def compared(path: Path, literals: Iterable[Json]) -> list[Json]:
    """Return the values of a place that literals are perhaps compared with, or with a part of
    them: the name and the namespace of a service account, and the parts of an image."""
    if path == _USER:
        return [
            name
            for text in literals
            for name in (
                *(f"{_ACCOUNT}default:{text}", f"{_ALIKE}:{text}"),
                *(f"{_ACCOUNT}{text}:app", f"{_ALIKE}{text}:app", text),
            )
        ]
    if path[-1] == "image":
        return [image for text in literals for image in (text, *_images_with(text))]
    return list(literals)


def _images_with(text: Json) -> tuple[str, ...]:
    return (
        f"{text}/app:1.0",
        f"registry.example/{text}:1.0",
        f"registry.example/app:{text}",
        f"registry.example/app@{text}",
    )


_NUMBER: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)([A-Za-z]*)", re.ASCII)
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
    """Return values around a scalar of a pattern: what it accepts, and what it rejects."""
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
    for part in chain.from_iterable(read_alternatives(pattern)):
        operation = read_operation(part)
        if isinstance(operation, Range):
            yield from map(_scalars, (operation.low, operation.high))
        else:
            yield _scalars(operation.operand)


def _scalars(text: str) -> Iterator[Json]:
    """Yield texts around one and what they are as numbers and booleans."""
    yield from around_text(text)
    for value in tuple(around_text(text)):
        if value in ("true", "false"):
            yield value == "true"
        match = _NUMBER.fullmatch(value)
        if match and not match[2] and len(value) <= _LONGEST_NUMBER:
            yield float(value) if "." in value else int(value)
    if text in ("true", "false"):
        yield text != "true"


def _unique(values: Iterable[Json]) -> Iterator[Json]:
    seen = set()
    for value in values:
        key = (type(value), str(value))
        if key not in seen:
            seen.add(key)
            yield value


_TOKEN: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\(\?(?:P?<\w+>|[imsU-]*:|[imsU-]*\))|[*+?}]\?|\.",
    re.DOTALL,
)
_PERL: Final = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": " "}
_OTHERS: Final = {r"\D": "x", r"\W": "-", r"\S": "x", r"\b": "", r"\B": "", ".": "x"}
_SAMPLES: Final = 3
_LONGEST: Final = 300


def matching(pattern: str) -> list[str]:
    """Return texts that a regular expression matches, by its alternatives, then others that it may
    not match."""
    written = _TOKEN.sub(_posix, pattern)
    generated: dict[str, None] = {}
    for at in range(_SAMPLES):
        with suppress(GoError):
            generated[generate(written, partial(_choice, at))] = None
    samples = [sample for sample in generated if len(sample) <= _LONGEST]
    unlike = [f"{sample}!" for sample in samples[:2]] + [text[:-1] for text in samples[:2] if text]
    return [*dict.fromkeys((*samples, *unlike, "", "unlike"))]


def _choice(sample: int, limit: int) -> int:
    """Return the first of several choices for the first sample, the second for the next one."""
    return min(sample, limit - 1)


def _posix(token: re.Match[str]) -> str:
    """Return a part of a regular expression in the syntax of POSIX; of any character, one."""
    text = token[0]
    if text.startswith("[^"):
        return next((char for char in "x1-_/ " if re.fullmatch(text, char)), "x")
    if text.startswith("["):
        return re.sub(r"\\[dws]", lambda escape: _PERL[escape[0]], text)
    if text.startswith("(?"):
        return "" if text.endswith(")") else "("
    if text in _PERL:
        return f"[{_PERL[text]}]"
    return text[:-1] if text.endswith("?") else _OTHERS.get(text, text)
