"""The result of converting a legacy policy: new documents, and what became of each rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.errors import ChartkitError
from chartkit.model import (
    Body,
    Json,
    Location,
    Resource,
    mapping_at,
    pointer_of,
    text_of,
    texts_below,
)


class NotConvertible(ChartkitError):  # noqa: N818 - a statement about a rule, no fault
    """A rule that has no exact form among the new types.

    message: the reason, as a table shows it; path: the JSON pointer of the part in the policy's
    document that has no form (`/spec/rules/0/context/1`), empty for the rule itself; nearest: the
    nearest CEL, for a comment; empty for none; query: that of the policy that it is about, empty
    for none.
    """

    def __init__(self, reason: str, path: str = "", nearest: str = "", hint: str = "") -> None:
        super().__init__(reason, hint=hint)
        self.path = path
        self.nearest = nearest
        self.query = ""


@contextmanager
def about(query: str) -> Iterator[None]:
    """Note the query that a reason is about, unless it is about one within it."""
    try:
        yield
    except NotConvertible as reason:
        reason.query = reason.query or query
        raise


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The outcome of a rule.

    rule: its name; empty for an object without rules (a cleanup policy, an exception); type: its
    type, as `validate.pattern`; replaced_by: `Kind/name` of the documents that take over, none
    where it is left to be done by hand; reason: why it is left; changes: behaviour that differs,
    a sentence each; drops_deletions: whether it judged deletions and no longer does;
    refuses_updates: whether it let updates pass of objects that violate already, and refuses them
    now; remarks:
    sentences about what is assumed and about values that hardly any object has; nearest: the
    nearest CEL of a rule that is left; assumed: types of fields that no table knows, by path;
    entry: the index of its first entry in what the first of its documents lists (`validations`).
    """

    rule: str
    type: str
    location: Location
    replaced_by: tuple[str, ...] = ()
    reason: str = ""
    changes: tuple[str, ...] = ()
    drops_deletions: bool = False
    refuses_updates: bool = False
    remarks: tuple[str, ...] = ()
    nearest: str = ""
    assumed: Mapping[str, str] = field(default_factory=dict)
    entry: int = 0

    @property
    def converted(self) -> bool:
        """Report whether new documents take over."""
        return not self.reason


def left(legacy: Resource, type_: str, reason: NotConvertible) -> RuleOutcome:
    """Return the outcome of an object without rules that is left to be done by hand."""
    location = replace(legacy.location, path="")
    return _left("", type_, legacy.body.get("spec"), location, "/spec", reason)


def left_rule(rule: Json, location: Location, reason: NotConvertible) -> RuleOutcome:
    """Return the outcome of a rule that is left to be done by hand."""
    body = rule if isinstance(rule, dict) else {}
    return _left(text_of(body.get("name")), type_of(body), body, location, location.path, reason)


def _left(
    name: str, type_: str, body: Json, location: Location, root: str, reason: NotConvertible
) -> RuleOutcome:
    pointer, message, query = reason.path and f"/{reason.path}", reason.message, reason.query
    if query:
        places = (pointer_of(*path) for path, text in texts_below(body) if query in text)
        pointer = next(places, pointer)
        is_short = len(query) <= _LONGEST and "\n" not in query
        message = f"{message}, in {query}" if is_short and query not in message else message
    if pointer:
        location = replace(location, path=f"{root}{pointer}")
    return RuleOutcome(name, type_, location, reason=message, nearest=reason.nearest)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A legacy object and what replaces it.

    documents: the new objects, in the order in which they are to be created; remaining: the legacy
    object with the rules that are left alone, None where nothing is; accepted, standing: the legacy
    policy and its remainder without the rules that Kyverno refuses, None where nothing is.
    """

    legacy: Resource
    documents: tuple[Body, ...]
    outcomes: tuple[RuleOutcome, ...]
    remaining: Body | None = None
    accepted: Resource | None = None
    standing: Body | None = None

    @property
    def complete(self) -> bool:
        """Report whether every rule was converted."""
        return all(outcome.converted for outcome in self.outcomes)

    def remarked(self, remarks: Sequence[str]) -> Conversion:
        """Return the conversion with remarks on each rule that converts."""
        outcomes = (
            replace(outcome, remarks=(*remarks, *outcome.remarks)) if outcome.converted else outcome
            for outcome in self.outcomes
        )
        return replace(self, outcomes=tuple(outcomes)) if remarks else self


_LONGEST: Final = 100
"""The most characters of a query that a reason quotes."""
CLEANUP: Final = "cleanup"
EXCEPTION: Final = "exception"
UNKNOWN_TYPE: Final = "unknown"
_OF_RULES: Final = ("ClusterPolicy", "Policy")
_VALIDATE: Final = (
    "podSecurity",
    "cel",
    "manifests",
    "foreach",
    "deny",
    "anyPattern",
    "pattern",
    "assert",
)
_MUTATE: Final = ("foreach", "patchStrategicMerge", "patchesJson6902")
_GENERATE: Final = ("foreach", "cloneList", "clone", "data")


@dataclass(frozen=True, slots=True)
class LegacyRule:
    """A rule of a legacy object.

    name: empty for an object without rules, a cleanup policy or an exception; type: as
    `validate.pattern` or `mutate.targets.patchStrategicMerge`; pointer: the JSON pointer of the
    rule in the object, empty for the object itself.
    """

    name: str
    type: str
    pointer: str = ""


def legacy_rules(resource: Resource) -> tuple[LegacyRule, ...]:
    """Return the rules of a legacy object in their order; an object without rules is one."""
    if resource.kind in _OF_RULES:
        rules = mapping_at(resource.body, "spec").get("rules")
        return tuple(
            LegacyRule(text_of(rule.get("name")), type_of(rule), f"/spec/rules/{index}")
            for index, rule in enumerate(rules if isinstance(rules, list) else ())
            if isinstance(rule, dict)
        )
    return (LegacyRule("", EXCEPTION if resource.kind == "PolicyException" else CLEANUP),)


def type_of(rule: Body) -> str:
    """Return the type of a rule, in the order in which Kyverno looks (`HasMutate` first)."""
    return ".".join(next(_types(rule), (UNKNOWN_TYPE,)))


def _types(rule: Body) -> Iterator[Sequence[str]]:
    if mutate := mapping_at(rule, "mutate"):
        target = ("targets",) if mutate.get("targets") else ()
        yield "mutate", *target, *_first(mutate, _MUTATE)
    if generate := mapping_at(rule, "generate"):
        yield "generate", *_first(generate, _GENERATE)
    if rule.get("verifyImages"):
        yield ("verifyImages",)
    if validate := mapping_at(rule, "validate"):
        yield "validate", *_first(validate, _VALIDATE)


def _first(body: Body, keys: Sequence[str]) -> Sequence[str]:
    return [key for key in keys if body.get(key) is not None][:1]
