"""The report of `chartkit why`, and of `chartkit scan --why`: trees of decisions as text, JSON and
findings, and the rules that did not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import click

from chartkit.engine import Request, RunnablePolicy, World, explain
from chartkit.engine.why import MISSING, Asked, Decision, RuleDecision
from chartkit.model import (
    Body,
    Diagnostic,
    Location,
    Resource,
    RuleResult,
    Severity,
    Status,
    pointer_text,
)
from chartkit.report.command_report import Block, CommandReport
from chartkit.report.model import resource_id
from chartkit.safe_text import shown
from chartkit.scan.why.asking import ObjectWhy, PolicyWhy
from chartkit.wording import abridged

_COLOURS: Final = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.WARN: "yellow",
    Status.ERROR: "magenta",
    Status.SKIP: "cyan",
}
_FEW: Final = 3
"""The most policies about other kinds that are shown with their reasons."""
_NONE: Final = "none"
"""The result of a rule that says nothing."""
_GRANTED: Final = frozenset({Asked.MATCH, Asked.FILTER, Asked.KIND, Asked.PRECONDITIONS})
"""Checks that decide nothing where they hold."""
_EXPLAINED: Final = frozenset({Status.FAIL, Status.WARN, Status.ERROR, Status.SKIP})
_MARKS: Final = {True: "+", False: "-", None: "?"}
_MOST_GROUPS: Final = 200
_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class WhyReport:
    """Shows decisions. is_whole: whether policies about other kinds, and checks that decided
    nothing, are shown as well."""

    objects: Sequence[ObjectWhy]
    is_whole: bool

    def report(self) -> CommandReport:
        """Return the report for every format."""
        return CommandReport(
            text=lambda _width: self._text(),
            value=lambda: {"objects": list(map(_object, self.objects))},
            rows="objects",
            findings=self._findings,
        )

    def _text(self) -> Iterator[Block]:
        for index, asked in enumerate(self.objects):
            if index:
                yield ""
            name = click.style(shown(resource_id(asked.resource)), bold=True)
            yield f"{name}  {asked.resource.location}"
            if asked.unsent is not None:
                yield f"  {shown(asked.unsent.text)}"
                if asked.unsent.location is not None:
                    yield f"    {asked.unsent.location}"
            others: list[str] = []
            is_short = (
                self.is_whole or sum(policy.is_of_other_kinds for policy in asked.policies) <= _FEW
            )
            for policy in asked.policies:
                if policy.is_of_other_kinds and not is_short:
                    others.append(shown(policy.policy))
                else:
                    yield from _policy(policy, asked.resource, self.is_whole)
            if others:
                noun = "policy is" if len(others) == 1 else "policies are"
                yield f"  {len(others)} {noun} about other kinds: {abridged(others)}"
            elif not asked.policies and asked.unsent is None:
                yield "  no policy"

    def _findings(self) -> Iterator[Diagnostic]:
        for asked in self.objects:
            for policy in asked.policies:
                for rule in policy.rules:
                    result = rule.status or _NONE
                    text = f"{resource_id(asked.resource)}: {result}: {rule.decision.text}"
                    location = rule.decision.location or asked.resource.location
                    yield Diagnostic(rule.name, Severity.NOTE, text, location)


def _policy(policy: PolicyWhy, resource: Resource, is_whole: bool) -> Iterator[str]:
    yield f"  {shown(policy.policy)}"
    for rule in policy.rules:
        decision, status = rule.decision, rule.status
        styled = "no result" if status is None else click.style(status, fg=_COLOURS[status])
        name = f"{shown(rule.rule)}: " if rule.rule else ""
        is_explained = is_whole or status in _EXPLAINED
        tree = _Tree(resource, is_whole)
        parts = tree.parts(decision) if is_explained else _filters(decision)
        yield f"    {name}{styled}: {_headline(decision, parts)}"
        if is_explained or status is None:
            yield from tree.below(decision, parts, "      ")


def rule_lines(decision: Decision, resource: Resource) -> Iterator[str]:
    """Yield the decision of a rule as lines without colours, its parts below it."""
    tree = _Tree(resource, is_whole=False)
    parts = tree.parts(decision)
    yield _headline(decision, parts)
    yield from tree.below(decision, parts, "  ")


def _headline(decision: Decision, parts: Sequence[Decision]) -> str:
    """Return the decision without the words of a part that is shown below."""
    text = decision.text
    for part in parts:
        if text != part.text:
            text = text.removesuffix(f": {part.text}")
    return shown(text)


def _filters(decision: Decision) -> list[Decision]:
    """Return the filters of a match that has several."""
    parts = [part for part in decision.parts if part.asked is Asked.FILTER]
    return parts if len(parts) > 1 else []


@dataclass(slots=True)
class _Tree:
    """The lines of one rule's decisions; each line of the policy that is written above is not
    written again. is_whole: whether checks that decided nothing are shown."""

    resource: Resource
    is_whole: bool
    _location: Location | None = None

    def below(self, decision: Decision, parts: Sequence[Decision], indent: str) -> Iterator[str]:
        """Yield where a check and its field are written, and its parts with theirs."""
        places: list[str] = []
        if decision.location is not None and decision.location != self._location:
            self._location = decision.location
            places.append(str(decision.location))
        if decision.pointer:
            field = shown(pointer_text(decision.pointer))
            location = self.resource.location.within(decision.pointer)
            if not location.line:
                places.append(field)
            else:
                is_named = field in decision.text
                places.append(str(location) if is_named else f"{field} ({location})")
        if places:
            yield f"{indent}{'  '.join(places)}"
        for part in parts:
            inner = self.parts(part)
            yield f"{indent}{_MARKS[part.holds]} {_headline(part, inner)}"
            yield from self.below(part, inner, f"{indent}  ")

    def parts(self, decision: Decision) -> list[Decision]:
        """Return the parts that say more than the decision."""
        parts = list(decision.parts)
        while len(parts) == 1 and parts[0].text == decision.text:
            parts = list(parts[0].parts)
        parts = [part for part in parts if part.parts or part.text != decision.text]
        if self.is_whole:
            return parts
        return [part for part in parts if not (part.holds and part.asked in _GRANTED)]


def _object(asked: ObjectWhy) -> Body:
    resource = asked.resource
    names = (resource.api_version, resource.kind, resource.namespace, resource.name)
    body: Body = {"resource": "/".join(names), "location": str(resource.location)}
    if asked.unsent is not None:
        body["unsent"] = decision_body(asked.unsent, resource)
    body["rules"] = [
        {
            "policy": rule.policy,
            "rule": rule.rule,
            "result": _NONE if rule.status is None else str(rule.status),
            "message": rule.message,
            "decision": decision_body(rule.decision, resource),
        }
        for policy in asked.policies
        for rule in policy.rules
    ]
    return body


def decision_body(decision: Decision, resource: Resource) -> Body:
    """Return a decision for programs; what it has not is left out."""
    body: Body = {"asked": str(decision.asked), "holds": decision.holds, "text": decision.text}
    if decision.location is not None:
        body["location"] = str(decision.location)
    if decision.pointer is not None:
        body["field"] = decision.pointer
        location: Location = resource.location.within(decision.pointer)
        if location.line:
            body["fieldLocation"] = str(location)
    if decision.value is not MISSING:
        body["value"] = decision.value
    if decision.parts:
        body["parts"] = [decision_body(part, resource) for part in decision.parts]
    return body


@dataclass(slots=True)
class _Group:
    """Objects that a rule does not match for one reason. place: of the check in the policy."""

    place: str
    names: list[str] = field(default_factory=list)
    count: int = 0


@dataclass(slots=True)
class ScanReasons:
    """Judges objects, and keeps why rules did not match them."""

    _groups: dict[tuple[str, str], _Group] = field(default_factory=dict)

    def results(
        self, policies: Sequence[RunnablePolicy], request: Request, world: World
    ) -> list[RuleResult]:
        """Return what `evaluate` returns, each result with its reasons."""
        decisions, results = explain(policies, request, world)
        left = list(decisions)
        explained: list[RuleResult] = []
        for result in results:
            rule = next((rule for rule in left if rule.is_about(result)), None)
            if rule is not None:
                left.remove(rule)
                result = replace(result, why=tuple(rule_lines(rule.decision, request.resource)))
            explained.append(result)
        for rule in decisions:
            if rule.status is None and not rule.decision.is_of_another_kind:
                self._keep(rule, request.resource)
        return explained

    def _keep(self, rule: RuleDecision, resource: Resource) -> None:
        key = (rule.name, rule.decision.text)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return
            group = self._groups[key] = _Group(str(rule.decision.location or ""))
        group.count += 1
        if len(group.names) <= _MOST_NAMED:
            group.names.append(resource_id(resource))

    def lines(self) -> Iterator[str]:
        """Yield a line for each rule and reason because of which it says nothing of objects."""
        if self._groups:
            yield "rules that say nothing of an object of their kinds:"
        for (name, text), group in self._groups.items():
            more = [""] * (group.count - len(group.names))
            objects = shown(abridged([*group.names, *more], _MOST_NAMED))
            yield f"  {shown(name)}: {shown(text)}: {objects}  {group.place}".rstrip()
