"""Why a rule came to its result: the decisions of one run, as a tree.

A kind of policy provides it by the method `why_phase` of `engine.policies.RunnablePolicy`: it runs
a phase exactly as `run_phase` does, adds the same results, and returns a `RuleDecision` for every
rule and form, also without a result. The decisions are recorded in the run itself: no second
interpreter can disagree with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from chartkit.model import Json, Location, RuleResult, Status
from chartkit.safe_text import shown
from chartkit.wording import shortened

MISSING: Final[Any] = type("Missing", (), {"__repr__": lambda _self: "MISSING"})()
"""The value of a decision about something that is not there, or about no single value."""


class Asked(StrEnum):
    """The kind of a check, in the words of JSON output."""

    RESOURCE_FILTERS = "resourceFilters"
    WEBHOOK = "webhook"
    MATCH_CONDITION = "matchCondition"
    MATCH = "match"
    EXCLUDE = "exclude"
    FILTER = "filter"
    KIND = "kind"
    OPERATION = "operation"
    NAMESPACE = "namespace"
    NAME = "name"
    LABELS = "labels"
    ANNOTATIONS = "annotations"
    NAMESPACE_LABELS = "namespaceLabels"
    USER = "user"
    BINDING = "binding"
    PARAMETER = "parameter"
    EXCEPTION = "exception"
    AUTOGEN = "autogen"
    CONTEXT = "context"
    VARIABLE = "variable"
    PRECONDITIONS = "preconditions"
    DENY = "deny"
    CONDITION = "condition"
    PATTERN = "pattern"
    ANY_PATTERN = "anyPattern"
    FOREACH = "foreach"
    ELEMENT = "element"
    POD_SECURITY = "podSecurity"
    CONTROL = "control"
    IMAGE = "image"
    EXPRESSION = "expression"
    RULE = "rule"
    """Any other check: the result's own message says it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One check, and its answer.

    holds: None where it could not be decided, which text then explains. text: the answer in one
    sentence, with both sides: "namespace shop is not shp". location: of the check in the policy,
    None for a policy without a file. pointer: the object's field as a JSON pointer, which may be
    missing; None for a check of no single field. value: of the field. parts: the checks in this
    one, in the order of the run.
    """

    asked: Asked
    holds: bool | None
    text: str
    location: Location | None = None
    pointer: str | None = None
    value: Json = MISSING
    parts: tuple[Decision, ...] = ()

    @property
    def is_of_another_kind(self) -> bool:
        """Report whether it is a match that the object's kind alone keeps from holding."""
        refusing = [check for check in self.checks() if check.holds is False]
        is_kind = all(check.asked in (Asked.KIND, Asked.MATCH) for check in refusing)
        return self.asked is Asked.MATCH and not self.holds and is_kind

    def checks(self) -> Iterator[Decision]:
        """Yield the innermost parts; of a decision without parts the decision itself."""
        for part in self.parts:
            yield from part.checks()
        if not self.parts:
            yield self

    def walk(self) -> Iterator[Decision]:
        """Yield the decision and all its parts, from the outside in."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """A rule of a policy, and the first thing that decided its result.

    policy: the ID of the policy (`chartkit.model.policy_id`). rule: the rule's name as in results,
    of a CEL policy the form's name (`autogen-defaults`), empty for the policy itself. status,
    message: of its result; status None: the rule has no result for the object.
    """

    policy: str
    rule: str
    status: Status | None
    decision: Decision
    message: str = ""

    @property
    def name(self) -> str:
        """Return `POLICY/RULE`, or the policy's ID alone."""
        return f"{self.policy}/{self.rule}".rstrip("/")

    def is_about(self, result: RuleResult) -> bool:
        """Report whether it decided a result; results of CEL policies do not name the form."""
        is_rule = bool(result.kind) or result.rule == self.rule
        return is_rule and (self.policy, self.message) == (result.policy_id, result.message)


def elsewhere(policy: Location, wanted: str, namespace: str) -> Decision | None:
    """Return the decision of a policy whose namespace is not the object's; None for any other.

    policy: the location of its document; wanted: its namespace, empty for none.
    """
    if wanted in ("", namespace):
        return None
    text = f"namespace {shown(namespace) or 'none'} is not {shown(wanted)}, which is the policy's"
    field, value = "/metadata/namespace", namespace or MISSING
    return Decision(Asked.NAMESPACE, False, text, policy.within(field), field, value)


_SHOWN_METADATA: Final = ("name", "namespace", "labels")
_SHOWN_FIELDS: Final = (
    "/apiVersion",
    "/kind",
    "/type",
    *map("/metadata/".__add__, _SHOWN_METADATA),
)


def is_shown_of_secret(pointer: str | None) -> bool:
    """Report whether a field of a Secret holds no data, so that its value is shown."""
    return pointer is not None and pointer.startswith(_SHOWN_FIELDS)


_MOST_CHARACTERS: Final = 60
_PLAIN_TEXT: Final = re.compile(r"[^\s,;:'\"\[\]{}](?:[^\s'\"\[\]{}]*[^\s,;:'\"\[\]{}])?")


def value_text(value: Json) -> str:
    """Return a value as a sentence shows it: JSON, shortened; a text of one word without quotes."""
    if value is MISSING:
        return "missing"
    if isinstance(value, str) and _PLAIN_TEXT.fullmatch(value):
        text: str = value
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return shown(shortened(text, _MOST_CHARACTERS))
