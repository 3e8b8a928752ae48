"""The differences between an object and its signed manifest (k8s-manifest-sigstore's `mapnode`).

Values are compared by the whole of their paths, in which members of lists have their index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from chartkit.go.fmt import go_json, go_sprint
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.model import Body, Json

_IN_LIST: Final = re.compile(r"\.\d+\.")
_REGISTRY: Final = "docker.io/"
_TAG: Final = ":latest"


@dataclass(frozen=True, slots=True)
class Difference:
    """before: in the manifest, after: in the object; None where it is not there."""

    key: str
    before: Json
    after: Json


def differences(manifest: Body, body: Body, ignored: Sequence[str]) -> Sequence[Difference]:
    """Return the values that an object or its manifest has and the other lacks.

    ignored: beginnings of paths, with `*` for any text. Empty where they agree.
    """
    before, after = leaves(manifest), leaves(body)
    plain: list[Difference] = []
    others: list[Difference] = []
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None and _type(old) != _type(new):
            others.append(Difference(key, _typed(old), _typed(new)))
        elif old != new:
            plain.append(Difference(key, old, new))
    found = [one for one in _unmoved(plain) if not _is_default(one)] + others
    is_ignored = _matcher(ignored)
    kept = [
        one
        for one in found
        if not _is_same_image(one)
        and not is_ignored(one.key)
        and not (one.key == "metadata.namespace" and one.before is None)
    ]
    return sorted(kept, key=lambda one: one.key)


def show_differences(found: Sequence[Difference]) -> str:
    """As Kyverno's messages show them."""
    items: Json = [
        {"key": one.key, "values": {"after": one.after, "before": one.before}} for one in found
    ]
    return go_json({"items": items})


def leaves(value: Json) -> Mapping[str, Json]:
    """All values by their paths, without null and what is empty."""
    found: dict[str, Json] = {}
    pending: list[tuple[str, Json]] = [("", value)]
    while pending:
        path, current = pending.pop()
        if isinstance(current, dict):
            members = current.items()
        elif isinstance(current, list):
            members = {str(at): one for at, one in enumerate(current)}.items()
        else:
            if current is not None:
                found[path] = current
            continue
        pending += [(f"{path}.{key}" if path else key, one) for key, one in members]
    return found


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "float64"


def _typed(value: Json) -> str:
    """A value among those of another type, as Go's `%s` prints it."""
    kind = _type(value)
    shown = value if kind == "string" else f"%!s({kind}={go_sprint(value)})"
    return f"(type: {kind}) {shown}"


def _unmoved(found: Sequence[Difference]) -> list[Difference]:
    """Without what stands at another index of the same list."""
    there = {(_place(one.key), one.before, one.after) for one in found}
    return [one for one in found if not _is_moved(one, there)]


def _is_moved(one: Difference, there: Set[tuple[str, Json, Json]]) -> bool:
    if one.before is not None and one.after is not None:
        return False
    is_member = _IN_LIST.search(one.key) is not None
    return is_member and (_place(one.key), one.after, one.before) in there


def _place(key: str) -> str:
    return _IN_LIST.sub(".*.", key)


def _is_default(one: Difference) -> bool:
    """An empty text is as good as none."""
    return (one.before is None and one.after == "") or (one.after is None and one.before == "")


def _is_same_image(one: Difference) -> bool:
    """An image whose name was filled up."""
    if not (one.key.endswith("image") and isinstance(one.before, str)):
        return False
    return one.after in (_REGISTRY + one.before, one.before + _TAG)


def _matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a test for paths that contain one of the patterns; an invalid expression matches
    nothing."""
    found: list[str] = []
    for pattern in patterns:
        expression = f"{pattern}*".replace("*", ".*")
        try:
            compile_regex(expression)
        except RegexError:
            continue
        found.append(f"(?:{expression})")
    return compile_regex("|".join(found)).matches if found else lambda _path: False
