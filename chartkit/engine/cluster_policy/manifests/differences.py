"""The differences between an object and its signed manifest (k8s-manifest-sigstore's `mapnode`).

Values are compared by the whole of their paths, in which members of lists have their index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.go.fmt import go_json, go_sprint
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.model import Body, Json, item_number, mapping_at, text_of

_TABLE: Final = Path(__file__).with_name("ignored_fields.yaml")
_EVERY: Final = "every"
_SIGNING: Final = ("message", "signature", "certificate", "bundle", "resourceBundleRef")


@cache
def _table() -> Mapping[str, Sequence[str]]:
    table: Mapping[str, Sequence[str]] = read_file(_TABLE)[0].body
    return table


def ignored_fields(body: Body, domain: str, listed: Sequence[Body]) -> Sequence[str]:
    """The fields of an object that are not compared, as beginnings of paths with `*`.

    domain: of the annotations with the signature; listed: `ignoreFields` of the rule.
    """
    named = mapping_at(body, "metadata")
    group, _, version = text_of(body.get("apiVersion")).rpartition("/")
    reference = {
        "group": group,
        "version": version,
        "kind": text_of(body.get("kind")),
        "name": text_of(named.get("name")),
        "namespace": text_of(named.get("namespace")),
    }
    fields = [f"metadata.annotations.{domain}/{name}" for name in _SIGNING]
    table = _table()
    fields += [*table[_EVERY], *table.get(reference["kind"], ())]
    if reference["kind"] == "Route" and reference["group"] == "route.openshift.io":
        fields.append("spec.host")
    for entry in listed:
        objects: list[Body] = entry.get("objects") or [{}]
        if any(
            all(matches(text_of(wanted.get(part)), own) for part, own in reference.items())
            for wanted in objects
        ):
            fields += entry.get("fields") or ()
    return fields


def matches(pattern: str, value: str) -> bool:
    """`*` at the end matches any text, `-` none; commas separate patterns."""
    pattern = pattern.strip()
    if pattern in ("", "*", value) or (pattern == "-" and not value):
        return True
    if pattern.endswith("*"):
        return value.startswith(pattern.rstrip("*"))
    return "," in pattern and any(matches(part, value) for part in pattern.split(","))


_IN_LIST: Final = re.compile(r"\.\d+\.")
_REGISTRY: Final = "docker.io/"
_TAG: Final = ":latest"


@dataclass(frozen=True, slots=True)
class Difference:
    """before: in the manifest, after: in the object; None if it is absent."""

    key: str
    before: Json
    after: Json


def differences(manifest: Body, body: Body, ignored: Sequence[str]) -> Sequence[Difference]:
    """Return the values that an object or its manifest has and the other lacks.

    ignored: beginnings of paths, with `*` for any text. Empty where they agree.
    """
    before, after = leaves(manifest), leaves(body)
    edits: list[Difference] = []
    others: list[Difference] = []
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None and _type(old) != _type(new):
            others.append(Difference(key, _typed(old), _typed(new)))
        elif old != new:
            edits.append(Difference(key, old, new))
    there = {(_place(edit.key), edit.before, edit.after) for edit in edits}
    unmoved = [difference for difference in edits if not _is_moved(difference, there)]
    remaining = [difference for difference in unmoved if not _is_default(difference)] + others
    # A test for paths that contain one of the patterns; an invalid expression matches nothing.
    expressions: list[str] = []
    for pattern in ignored:
        expression = f"{pattern}*".replace("*", ".*")
        try:
            compile_regex(expression)
        except RegexError:
            continue
        expressions.append(f"(?:{expression})")
    is_ignored = (
        compile_regex("|".join(expressions)).matches if expressions else lambda _path: False
    )
    kept = [
        difference
        for difference in remaining
        if not _is_same_image(difference)
        and not is_ignored(difference.key)
        and not (difference.key == "metadata.namespace" and difference.before is None)
    ]
    return sorted(kept, key=lambda difference: difference.key)


def show_differences(listed: Sequence[Difference]) -> str:
    """Return differences as in Kyverno's messages."""
    items: Json = [
        {"key": row.key, "values": {"after": row.after, "before": row.before}} for row in listed
    ]
    return go_json({"items": items})


def path_of(key: str, value: Json) -> tuple[str | int, ...] | None:
    """Return the path of a difference's key in a document; None without one.

    Keys of objects may hold dots themselves.
    """
    if not key:
        return ()
    if isinstance(value, dict):
        members = [(name, name) for name in value if f"{key}.".startswith(f"{name}.")]
    elif isinstance(value, list):
        index = key.partition(".")[0]
        number = item_number(index)
        members = [] if number is None or number >= len(value) else [(number, index)]
    else:
        return None
    for step, written in members:
        rest = path_of(key[len(written) + 1 :], value[step])
        if rest is not None:
            return (step, *rest)
    return None


def leaves(value: Json) -> Mapping[str, Json]:
    """Return all values by their paths, without null and empty values."""
    values: dict[str, Json] = {}
    pending: list[tuple[str, Json]] = [("", value)]
    while pending:
        path, current = pending.pop()
        if isinstance(current, dict):
            members = current.items()
        elif isinstance(current, list):
            members = {str(at): member for at, member in enumerate(current)}.items()
        else:
            if current is not None:
                values[path] = current
            continue
        pending += [(f"{path}.{key}" if path else key, member) for key, member in members]
    return values


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "float64"


def _typed(value: Json) -> str:
    """Return a value of another type as Go's `%s` prints it."""
    kind = _type(value)
    shown = value if kind == "string" else f"%!s({kind}={go_sprint(value)})"
    return f"(type: {kind}) {shown}"


def _is_moved(difference: Difference, there: Set[tuple[str, Json, Json]]) -> bool:
    if difference.before is not None and difference.after is not None:
        return False
    is_member = _IN_LIST.search(difference.key) is not None
    return is_member and (_place(difference.key), difference.after, difference.before) in there


def _place(key: str) -> str:
    return _IN_LIST.sub(".*.", key)


def _is_default(diff: Difference) -> bool:
    """Report whether a difference is an empty text, which equals a missing one."""
    return (diff.before is None and diff.after == "") or (diff.after is None and diff.before == "")


def _is_same_image(difference: Difference) -> bool:
    """Report whether an image differs only in a default registry or tag."""
    if not (difference.key.endswith("image") and isinstance(difference.before, str)):
        return False
    return difference.after in (_REGISTRY + difference.before, difference.before + _TAG)
