"""A comparison of what a cluster's reports say of policies that are installed in both forms.

A ClusterPolicy and a ValidatingPolicy of the same name stand next to each other while a cluster
migrates (`policyType: both`). A ClusterPolicy has a result for each rule and a ValidatingPolicy one
for each object, so that the gravest result of an object counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_LEGACY: Final = "kyverno"
_CEL: Final = frozenset({"KyvernoValidatingPolicy", "KyvernoNamespacedValidatingPolicy"})
_NONE: Final = "none"
_GRAVITY: Final = (_NONE, "skip", "pass", "warn", "fail", "error")
"""Results, the gravest last."""
_VIOLATIONS: Final = frozenset({"warn", "fail", "error"})

_Results = dict[str, dict[str, str]]
"""The gravest result of each object, by policy."""


class ReportedForms:
    """The results of both forms, as reports have them."""

    def __init__(self) -> None:
        self._legacy: _Results = {}
        self._cel: _Results = {}

    def add(self, source: str, policy: str, resource: str, result: str) -> None:
        """Add a result of a report; those of other sources do not count."""
        form = self._legacy if source == _LEGACY else self._cel if source in _CEL else None
        if form is not None and result in _GRAVITY:
            known = form.setdefault(policy, {})
            before = known.get(resource, _NONE)
            known[resource] = max(before, result, key=_GRAVITY.index)

    @property
    def differ(self) -> bool:
        """Return whether the forms of any policy differ."""
        return any(differing for _, differing, _ in self._policies())

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text; nothing where no policy is reported in both forms."""
        found = list(self._policies())
        if found:
            yield "both forms, ClusterPolicy and ValidatingPolicy, as reported:"
        for policy, differing, equal in found:
            if differing:
                of = equal + len(differing)
                yield f"  {policy}: {len(differing)} of {of} objects differ; keep the ClusterPolicy"
            elif equal:
                objects = "1 object" if equal == 1 else f"{equal} objects"
                yield f"  {policy}: equal for {objects}; the ValidatingPolicy may take over"
            else:
                yield f"  {policy}: no object is reported by both forms; wait for background scans"
            for resource, (legacy, cel) in sorted(differing.items()):
                yield f"    {resource}  ClusterPolicy: {legacy}  ValidatingPolicy: {cel}"

    def _policies(self) -> Iterator[tuple[str, Mapping[str, tuple[str, str]], int]]:
        """Yield each policy in both forms: the objects that differ with both results, and the
        number of those that both forms report without a difference."""
        for policy in sorted(self._legacy.keys() & self._cel.keys()):
            legacy, cel = self._legacy[policy], self._cel[policy]
            pairs = {
                each: (legacy.get(each, _NONE), cel.get(each, _NONE))
                for each in legacy.keys() | cel.keys()
            }
            differing = {each: pair for each, pair in pairs.items() if _differs(*pair)}
            yield policy, differing, len((legacy.keys() & cel.keys()) - differing.keys())


def _differs(legacy: str, cel: str) -> bool:
    """Return whether results mean something else: one that is no violation is as good as another,
    since the forms differ in the objects that they skip and in those that they do not match."""
    return legacy != cel and bool({legacy, cel} & _VIOLATIONS)
