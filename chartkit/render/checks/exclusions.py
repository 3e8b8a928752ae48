"""Exclusions of a project: where each is written, and which objects it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chartkit.engine import Request
from chartkit.engine.cluster_policy.match import Facts, bind_match
from chartkit.engine.cluster_policy.policy_reader import read_match
from chartkit.engine.kubernetes.kinds import in_namespace, kind_of
from chartkit.model import Body, Json, Location, Resource, mapping_at
from chartkit.render.chart import CheckTarget
from chartkit.values.lint.rule import ChartValues


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An exclusion as an environment has it.

    filters: as Kyverno's `exclude` has them, all of which must match; location: its line in
    chartkit.yaml, or in the values file where it was added by hand; for_all: whether it is for
    every policy.
    """

    filters: Sequence[Body] = field(repr=False)
    location: Location
    for_all: bool

    def leaves_out(self, resource: Resource) -> bool:
        """Return whether an object's creation is left out."""
        given = in_namespace(resource)
        match = read_match({"all": list(self.filters)})
        matches = bind_match(match, None, "", kind_of(given), "")
        return matches is not None and matches(Facts(Request(given)))


class Exclusions:
    """The exclusions of one environment, from the values that Helm renders with."""

    def __init__(self, subject: CheckTarget) -> None:
        self._values = subject.policies.lint_subject()
        self._merged = self._values.values
        self._known: dict[str, Sequence[Exclusion]] = {}
        self._written = {
            name: (*subject.environment.exclude, *given.exclude)
            for name, given in (subject.resolved.policies if subject.resolved else {}).items()
        }

    def of(self, policy: str) -> Sequence[Exclusion]:
        """Return the exclusions of a policy: those for every policy first."""
        if policy not in self._known:
            self._known[policy] = self._read(policy)
        return self._known[policy]

    def _read(self, policy: str) -> Sequence[Exclusion]:
        own = ("policies", policy, "exclude")
        if not mapping_at(self._merged, own[0], policy, own[2]):
            own = ("policyExclude", policy, "")
        paths = [("exclude",), own if own[2] else own[:2]]
        return [each for path in paths for each in self._below(path, policy)]

    def _below(self, path: tuple[str, ...], policy: str) -> Iterator[Exclusion]:
        block: Json = self._merged
        for step in path:
            block = mapping_at(block, step)
        places = {
            repr(dict(each.resources)): each.location for each in self._written.get(policy, ())
        }
        for_all = len(path) == 1
        for at, one in enumerate(_items(block, "any")):
            place = places.get(repr(one.get("resources"))) or _place(self._values, *path, "any", at)
            yield Exclusion((one,), place, for_all)
        together = _items(block, "all")
        if together:
            yield Exclusion(together, _place(self._values, *path, "all"), for_all)


def _items(block: Mapping[str, Json], key: str) -> list[Body]:
    return [each for each in block.get(key) or () if isinstance(each, dict)]


def _place(values: ChartValues, *path: str | int) -> Location:
    return values.locate(path)
