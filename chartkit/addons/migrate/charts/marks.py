"""Marks in place of what values give, and what a policy's template is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.charts.template import Node, show
from chartkit.helm.syntax import Call, Term
from chartkit.model import Body, Json, Resource

Variant = Mapping[str, int]
"""Decisions by their conditions: 0 or 1; for a list, its number of items."""
ITEMS: Final = 2
"""The items of a list, unless a variant says otherwise."""
SPECIMENS: Final = {
    "webhookTimeoutSeconds": "17",
    "timeoutSeconds": "17",
    "schedule": "17 3 9 11 *",
}
"""The marks of fields that take no text: Kyverno takes 1 to 30 seconds, and a cron schedule."""
PEM: Final = "-----BEGIN PUBLIC KEY-----", "\n-----END PUBLIC KEY-----"
"""The lines around the mark of a public key."""
REFERENCE: Final = ".chartkit/any*"
"""The end of the mark of an image reference: of a registry and the beginning of a path, or of a
registry alone, without a path."""
MARK_FORM: Final = "ck-mark{:03}x{}xxx"
MARK: Final = re.compile(r"ck-mark(\d{3})x(\d)xxx")
NUMBER_FORM: Final = "707{:03}{}70707"
NUMBER: Final = re.compile(r"707(\d{3})(\d)70707")
"""The mark of a value that a pattern puts in order: a number, which is a size as well."""
DURATION_FORM: Final = "7{:03}{}7h"
DURATION: Final = re.compile(r"\b7(\d{3})(\d)7h\b")
"""The mark of a value that a condition compares with a duration."""
NO_NUMBER: Final = "^[^-+.0-9]|[^-+.0-9a-zA-Z]", "characters that no number has"
NO_DIGITS: Final = "[^-+.0-9e]", "characters that no number without a unit has"
NO_DURATION: Final = "^[^-+.0-9]|[^.0-9hmnsu]", "characters that no duration has"
YAML: Final = "chartkityaml"
"""Behind the mark of a value that stands in YAML as it is."""
EXCLUDED_FORM: Final = "chartkitexclude{:03}"
EXCLUDED: Final = re.compile(r"chartkitexclude(\d{3})")

_PLAIN: Final = re.compile(
    r"(^ *(?:- )*(?:[\w./*&-]+: )?)ck-mark(\d{3})x\dxxx(?:[*&]z)?$", re.MULTILINE
)
_COMPLETED: Final = re.compile(
    rf"{PEM[0]}(?=ck-mark)|(?<=xxx){PEM[1]}|(?<=xxx)[.]chartkit(?:/any[*])?"
    r"|^\(\?s\)\^(?=ck-mark\d{3}x\dxxx\.\*\$$)|(?<=xxx)\.\*\$$"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark's term; of an item also the list."""

    term: Term
    list_key: str = ""


INDEX: Final = "chartkitindex"
"""A call that gives the index of an item, in place of the loop's variable."""


def nested(term: Term, list_key: str) -> list[Mark]:
    """Return the marks of a list within the items of another: of its first item, and the others."""
    return [Mark(Call(f"chartkit{part}", (term,)), list_key) for part in ("first", "others")]


def within(mark: Mark) -> Term | None:
    """Return the list within the items of another that a mark is of; None for others."""
    match mark.term:
        case Call("chartkitfirst" | "chartkitothers", (inner,)):
            return inner
    return None


@dataclass(slots=True)
class PolicyTemplate:
    """The template of one policy.

    nodes: of its document; named: those of named templates; variables: those that are set before;
    values: the chart's own; marks, excluded: what the marks replace, by number; decisions: the
    conditions, each with how it is decided unless a variant says otherwise; contexts: the decisions
    around each, as they are taken where it counts; lists: those that are
    lists of values, with the variables of their loops; items: decisions about the items of a list,
    with the list; lines: by condition, that in the template; specimens: what the marks replace in
    fields that take no text, by their key; refused: conditions, each with the value that has no new
    form and why; ordered, quoted: the numbers of marks for numbers and durations, with the
    characters that these do not have, and of marks in quotes; suffixes: what marks end with, by
    number; chosen: the values that choose kinds and operations, by field; references: the numbers
    of marks of image references, with whether these have a path; used: what they are here; tried:
    in place of the chart's; by_rule: the list of which each item is a policy of its own;
    is_apart: whether each rule is; legacy: the chart's exceptions and the policies that these name.
    """

    nodes: Sequence[Node]
    named: Mapping[str, Sequence[Node]]
    variables: Mapping[str, Term]
    values: Body
    marks: list[Mark] = field(default_factory=list)
    excluded: list[Term] = field(default_factory=list)
    decisions: dict[str, int] = field(default_factory=dict)
    contexts: dict[str, list[dict[str, int]]] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    specimens: dict[str, Term] = field(default_factory=dict)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    ordered: dict[int, tuple[str, str]] = field(default_factory=dict)
    quoted: set[int] = field(default_factory=set)
    suffixes: dict[int, str] = field(default_factory=dict)
    chosen: dict[str, Term] = field(default_factory=dict)
    references: dict[int, bool] = field(default_factory=dict)
    used: dict[str, Sequence[str]] = field(default_factory=dict)
    tried: dict[str, Sequence[str]] = field(default_factory=dict)
    by_rule: str = ""
    is_apart: bool = False
    legacy: Sequence[Resource] = ()

    def marked(self, term: Term, list_key: str = "") -> str:
        """Return the mark of a term that no mark replaces so far."""
        mark = Mark(term, list_key)
        if mark not in self.marks:
            self.marks.append(mark)
        return MARK_FORM.format(self.marks.index(mark), 0)


def unmarked(value: Json, template: PolicyTemplate, key: str = "") -> Json:
    """Return a policy with the same marks for numbers as for texts, in quotes in a template where
    the old form has them in quotes."""
    if isinstance(value, dict):
        return {inner: unmarked(item, template, inner) for inner, item in value.items()}
    if isinstance(value, list):
        return [unmarked(item, template) for item in value]
    if not isinstance(value, str):
        return value

    def quoted(match: re.Match[str]) -> str:
        is_quoted = int(match[2]) in template.quoted
        return f"{match[1]}'{match[0].removeprefix(match[1])}'" if is_quoted else match[0]

    if key == "value":
        value = _PLAIN.sub(quoted, value)
    value = DURATION.sub(r"ck-mark\1x\2xxx", NUMBER.sub(r"ck-mark\1x\2xxx", value))
    return _COMPLETED.sub("", value)


def readable(template: PolicyTemplate, text: str) -> str:
    """Return a reason with Helm code in place of marks."""
    text = re.sub(r"Invalid value: \{.*\}: ", "", _COMPLETED.sub("", text))
    text = MARK.sub(lambda match: f"{{{{ {show(template.marks[int(match[1])].term)} }}}}", text)
    return EXCLUDED.sub("{{ exclude }}", text)
