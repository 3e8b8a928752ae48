"""Why in a scan (`--why`): the checks behind each result, and the rules that did not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine import Request, RunnablePolicy, World, explain
from chartkit.engine.why import RuleDecision
from chartkit.model import Resource, RuleResult
from chartkit.report.model import resource_id
from chartkit.safe_text import shown
from chartkit.scan.why.asking import is_of_another_kind
from chartkit.scan.why.report import rule_lines
from chartkit.wording import abridged

_MOST_GROUPS: Final = 200
_MOST_NAMED: Final = 4


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
            one = next((one for one in left if _is_about(one, result)), None)
            if one is not None:
                left.remove(one)
                lines = tuple(rule_lines(one.decision, request.resource))
                result = replace(result, why=lines)
            explained.append(result)
        for one in decisions:
            if one.status is None and not is_of_another_kind(one.decision):
                self._keep(one, request.resource)
        return explained

    def _keep(self, one: RuleDecision, resource: Resource) -> None:
        name = f"{one.policy}/{one.rule}".rstrip("/")
        key = (name, one.decision.text)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return
            place = "" if one.decision.location is None else str(one.decision.location)
            group = self._groups[key] = _Group(place)
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


def _is_about(one: RuleDecision, result: RuleResult) -> bool:
    """Report whether a decision is that of a result; those of CEL policies have no names of
    forms."""
    is_rule = bool(result.kind) or result.rule == one.rule
    return is_rule and (one.policy, one.message) == (result.policy_id, result.message)
