"""A comparison of what a cluster's reports say of policies that are installed in both forms.

A ClusterPolicy and a ValidatingPolicy of the same name stand next to each other while a cluster
migrates (`policyType: both`), or several ValidatingPolicies with the names of its rules behind its
own, as `chartkit migrate policies` makes them. A ClusterPolicy has a result for each rule and a
ValidatingPolicy one for each object, so that the gravest result of an object counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_LEGACY: Final = "kyverno"
_CEL: Final = frozenset({"KyvernoValidatingPolicy", "KyvernoNamespacedValidatingPolicy"})
_NONE: Final = "none"
_GRAVITY: Final = (_NONE, "skip", "pass", "warn", "fail", "error")
"""Results, the gravest last."""
_VIOLATIONS: Final = frozenset({"warn", "fail", "error"})

_ACTIONS: Final = ("audit", "enforce")
"""The end of the name of a policy with the action of some namespaces."""
_LONGEST: Final = 63
"""The characters of a converted policy's name; what is more is cut off."""

_Results = dict[str, dict[str, str]]
"""The gravest result of each object, by policy."""


class ReportedForms:
    """The results of both forms, as reports have them."""

    def __init__(self) -> None:
        self._legacy: _Results = {}
        self._cel: _Results = {}
        self._parts: dict[str, set[str]] = {}

    def add(self, source: str, policy: str, rule: str, resource: str, result: str) -> None:
        """Add a result of a report; those of other sources do not count."""
        form = self._legacy if source == _LEGACY else self._cel if source in _CEL else None
        if form is None or result not in _GRAVITY:
            return
        _keep(form.setdefault(policy, {}), resource, result)
        if form is self._legacy:
            self._parts.setdefault(policy, set(_ACTIONS)).update(_names_behind(rule))

    @property
    def differ(self) -> bool:
        """Return whether the forms of any policy differ."""
        return any(differing for _, _, differing, _ in self._policies())

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text; nothing where no policy is reported in both forms."""
        found = list(self._policies())
        if found:
            yield "both forms, ClusterPolicy and ValidatingPolicy, as reported:"
        for policy, names, differing, equal in found:
            if differing:
                of = equal + len(differing)
                yield f"  {policy}: {len(differing)} of {of} objects differ; keep the ClusterPolicy"
            elif equal:
                objects = "1 object" if equal == 1 else f"{equal} objects"
                yield f"  {policy}: equal for {objects}; {_named(policy, names)} may take over"
            else:
                yield f"  {policy}: no object is reported by both forms; wait for background scans"
            for resource, (legacy, cel) in sorted(differing.items()):
                yield f"    {resource}  ClusterPolicy: {legacy}  ValidatingPolicy: {cel}"

    def _policies(
        self,
    ) -> Iterator[tuple[str, Sequence[str], Mapping[str, tuple[str, str]], int]]:
        """Yield each policy in both forms: the names of its new ones, the objects that differ with
        both results, and the number of those that both forms report without a difference."""
        # The ClusterPolicies that ValidatingPolicies stand for, each with their names.
        policies = {
            name: policy
            for policy in sorted(self._legacy, key=len)
            for name in (policy, *(f"{policy}-{each}"[:_LONGEST] for each in self._parts[policy]))
        }
        found: dict[str, list[str]] = {}
        for name in sorted(self._cel.keys() & policies.keys()):
            found.setdefault(policies[name], []).append(name)
        for policy, names in sorted(found.items()):
            legacy, cel = self._legacy[policy], dict[str, str]()
            for name in names:
                for resource, result in self._cel[name].items():
                    _keep(cel, resource, result)
            pairs = {
                each: (legacy.get(each, _NONE), cel.get(each, _NONE))
                for each in legacy.keys() | cel.keys()
            }
            differing = {each: pair for each, pair in pairs.items() if _differs(*pair)}
            yield policy, names, differing, len((legacy.keys() & cel.keys()) - differing.keys())


def _named(policy: str, names: Sequence[str]) -> str:
    if list(names) == [policy]:
        return "the ValidatingPolicy"
    one = "the ValidatingPolicy" if len(names) == 1 else "the ValidatingPolicies"
    return f"{one} {', '.join(names)}"


def _keep(known: dict[str, str], resource: str, result: str) -> None:
    known[resource] = max(known.get(resource, _NONE), result, key=_GRAVITY.index)


def _names_behind(rule: str) -> Iterator[str]:
    """Yield what stands behind a policy's name where a rule becomes a policy of its own."""
    for prefix in ("autogen-cronjob-", "autogen-"):
        rule = rule.removeprefix(prefix)
    yield rule
    yield from (f"{rule}-{action}" for action in _ACTIONS)


def _differs(legacy: str, cel: str) -> bool:
    """Return whether results mean something else: one that is no violation is as good as another,
    since the forms differ in the objects that they skip and in those that they do not match."""
    return legacy != cel and bool({legacy, cel} & _VIOLATIONS)
