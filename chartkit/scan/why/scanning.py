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
