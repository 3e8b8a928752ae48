"""Differences between the generations of policies that no conversion can take away, and the types
that a conversion assumes.

They hold for every converted rule that they concern, so reports list them once and not with each
rule. The proof knows them and does not count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.expressions.place import ANY_LIST, ANY_MAP, TEXT
from chartkit.documents.reader import parse_yaml
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Body, Json, list_of


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference; id: its name in outputs; text: a sentence."""

    id: str
    text: str


_SENTENCES: Final = parse_yaml((Path(__file__).parent / "differences.yaml").read_text("utf-8"))

GENERAL: Final = tuple(KnownDifference(*row) for row in _SENTENCES["general"].items())
"""In the order in which they matter."""
(
    EXISTING,
    EXISTING_BY_CONTEXT,
    FIRST_FAILURE,
    REPLICATION_CONTROLLERS,
    EPHEMERAL_CONTAINERS,
    ANCHOR_ERRORS,
    ERRORS,
    FAILING_DELETIONS,
    SKIPS,
    TIDIED_LISTS,
    OWN_WILDCARDS,
    OWN_QUOTES,
    ENTRIES_BY_WORD,
) = GENERAL

_CHANGES: Final = {**_SENTENCES["changes"], **_SENTENCES["remarks"]}
DELETIONS: Final[str] = _CHANGES["DELETIONS"]
REFUSES_ALL: Final[str] = _CHANGES["REFUSES_ALL"]
NEVER_REFUSES: Final[str] = _CHANGES["NEVER_REFUSES"]
CEL_ERRORS: Final[str] = _CHANGES["CEL_ERRORS"]
FAILING_CONDITIONS: Final[str] = _CHANGES["FAILING_CONDITIONS"]
UNREAD_ANCHORS: Final[str] = _CHANGES["UNREAD_ANCHORS"]
UNQUOTED: Final[str] = _CHANGES["UNQUOTED"]
UNUSED_VARIABLES: Final[str] = _CHANGES["UNUSED_VARIABLES"]
NUMBERS: Final[str] = _CHANGES["NUMBERS"]
PLAIN_TEXTS: Final[str] = _CHANGES["PLAIN_TEXTS"]
POLICY_EVENTS: Final[str] = _CHANGES["POLICY_EVENTS"]
NO_SCANS: Final[str] = _CHANGES["NO_SCANS"]
NO_TARGET: Final[str] = _CHANGES["NO_TARGET"]
SAME_NAMES: Final[str] = _CHANGES["SAME_NAMES"]
NULL_VALUES: Final[str] = _CHANGES["NULL_VALUES"]
ASCII_CASE: Final[str] = _CHANGES["ASCII_CASE"]
PARENT_FOLDERS: Final[str] = _CHANGES["PARENT_FOLDERS"]
DECIMALS: Final[str] = _CHANGES["DECIMALS"]
CONDITION_MESSAGES: Final[str] = _CHANGES["CONDITION_MESSAGES"]
IMAGE_PARTS: Final[str] = _CHANGES["IMAGE_PARTS"]
TIMES: Final[str] = _CHANGES["TIMES"]
DECODED: Final[str] = _CHANGES["DECODED"]
READ_TEXTS: Final[str] = _CHANGES["READ_TEXTS"]
LISTS_IN_TEXTS: Final[str] = _CHANGES["LISTS_IN_TEXTS"]
LISTS_AS_TEXTS: Final[str] = _CHANGES["LISTS_AS_TEXTS"]
EMPTY_SEARCHES: Final[str] = _CHANGES["EMPTY_SEARCHES"]
EVERY_KEY: Final[str] = _CHANGES["EVERY_KEY"]
NO_DATA: Final[str] = _CHANGES["NO_DATA"]
FETCHED_DEFAULTS: Final[str] = _CHANGES["FETCHED_DEFAULTS"]
FAILING_DEFAULTS: Final[str] = _CHANGES["FAILING_DEFAULTS"]
PASSES_ERRORS: Final[str] = _CHANGES["PASSES_ERRORS"]
UNANSWERED: Final[str] = _CHANGES["UNANSWERED"]
SERVICE_ACCOUNTS: Final[str] = _CHANGES["SERVICE_ACCOUNTS"]
KIND_IN_SCANS: Final[str] = _CHANGES["KIND_IN_SCANS"]
LATEST_STANDARD: Final[str] = _CHANGES["LATEST_STANDARD"]
JOB_ANNOTATIONS: Final[str] = _CHANGES["JOB_ANNOTATIONS"]
VERIFIED_AGAIN: Final[str] = _CHANGES["VERIFIED_AGAIN"]
ALL_FETCHED: Final[str] = _CHANGES["ALL_FETCHED"]
PULL_SECRETS: Final[str] = _CHANGES["PULL_SECRETS"]
BUNDLES: Final[str] = _CHANGES["BUNDLES"]
IMAGE_NAMES: Final[str] = _CHANGES["IMAGE_NAMES"]
ONE_KEY: Final[str] = _CHANGES["ONE_KEY"]
ONE_ATTESTATION: Final[str] = _CHANGES["ONE_ATTESTATION"]
ACTS_NOWHERE: Final[str] = _CHANGES["ACTS_NOWHERE"]
CONNECTIONS: Final[str] = _CHANGES["CONNECTIONS"]
PROPERTIES: Final[str] = _CHANGES["PROPERTIES"]
EVERYWHERE: Final[str] = _CHANGES["EVERYWHERE"]
REPORTED: Final[str] = _CHANGES["REPORTED"]
OWN_TEXTS: Final[str] = _CHANGES["OWN_TEXTS"]
REMARKS: Final[frozenset[str]] = frozenset(_SENTENCES["remarks"].values())
"""Sentences about values that hardly any object has, and about errors in place of failures: they
are shown, and make no change of a rule."""


_MAPS: Final = ("labels", "annotations")
WORDS: Final = {
    TEXT: "a string",
    "int": "a whole number",
    "double": "a number",
    "bool": "a boolean",
    "quantity": "a number or a quantity",
    ANY_LIST: "a list",
    ANY_MAP: "an object",
}
"""By type: the words for it."""


_STEP: Final = re.compile(r"\.|\[\]")


def described(assumed: Mapping[str, str]) -> str:
    """Return assumptions as a sentence, without what these imply of the fields above; empty for
    none."""
    if not assumed:
        return ""
    above = {path[: match.start()] for path in assumed for match in _STEP.finditer(path)}
    innermost = sorted(assumed.keys() - above)
    named = [f"{path} is {WORDS[assumed[path]]}" for path in innermost]
    fields = "these fields" if len(named) > 1 else "this field"
    return f"no schema at hand has {fields}: it is assumed that {', '.join(named)}"


def meets(body: Body, assumed: Mapping[str, str]) -> bool:
    """Report whether every field of an object that is assumed to have a type has it, or is not
    there; labels and annotations are texts in any case."""
    metadata = body.get("metadata")
    maps = [metadata[key] for key in _MAPS if key in metadata] if metadata else []
    for map_ in maps:
        if not isinstance(map_, dict) or not all(isinstance(text, str) for text in map_.values()):
            return False
    return all(
        _is(value, type_)
        and (f"{path}[]" in assumed or not any(isinstance(item, list) for item in list_of(value)))
        for path, type_ in assumed.items()
        for value in _values(body, path)
    )


def _values(value: Json, path: str) -> Iterator[Json]:
    """Yield the values at a path, in whose keys there may be dots."""
    steps = path.split(".")
    for at in range(1, len(steps) + 1) if isinstance(value, dict) else ():
        written, rest = ".".join(steps[:at]), ".".join(steps[at:])
        key = written.removesuffix("[]")
        values = value.values() if key == "*" else [value[key]] if key in value else []
        inside = values if written == key else [item for value in values for item in list_of(value)]
        for item in inside:
            yield from _values(item, rest) if rest else (item,)


def _is(value: Json, type_: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return is_number and float(value).is_integer()
        case "double":
            return is_number
        case "quantity":
            return is_number or (isinstance(value, str) and quantity_or_none(value) is not None)
        case _ if type_ == ANY_LIST:
            return isinstance(value, list) and None not in value
        case _:
            return isinstance(value, dict)
