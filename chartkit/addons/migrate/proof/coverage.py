"""The places of both forms that the requests of a proof reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.migrate.proof.branches import branches_of
from chartkit.addons.migrate.proof.forms import Form, Said
from chartkit.addons.migrate.proof.leaves.paths import Path, path_text
from chartkit.addons.migrate.proof.model import Coverage, Reached
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.facets import Facet
from chartkit.engine import World
from chartkit.engine.cel_policies.kinds.validating import INDEX
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.model import RuleResult, Status

LEGACY: Final = "legacy"
NEW: Final = "new"
BOTH: Final = "both"
_VALIDATES: Final = ("pass", "fail")
_ACTS: Final = ("pass",)


class Tally:
    """Counts what each request reached."""

    def __init__(self, legacy: Form, new: Form) -> None:
        self._legacy = legacy
        self._new = new
        self._rules: dict[str, Counter[str]] = {}
        self._validations: dict[str, Counter[str]] = {}
        self._tries: dict[Path, Counter[str]] = {}
        self._policies = {
            one.policy.id: one.policy for one in new.admitting if isinstance(one, CompiledCelPolicy)
        }
        found = {key: branches_of(policy) for key, policy in self._policies.items()}
        self._branches = {key: one for key, one in found.items() if one is not None}

    def count(self, case: Case, legacy: Said, new: Said) -> None:
        """Count one request."""
        for result in legacy.results:
            self._rules.setdefault(result.rule, Counter())[str(result.status)] += 1
        for result in new.results:
            policy = self._policies.get(result.policy_id)
            if isinstance(policy, CelPolicy):
                self._count_policy(policy, result)
        if legacy.results and new.results:
            for path, state in case.tries:
                self._tries.setdefault(path, Counter())[state] += 1

    def watch(self, case: Case, world: World) -> bool:
        """Count the branches of expressions that a request takes; return whether any is new."""
        return sum(one.watch(case, world) for one in self._branches.values()) > 0

    def _count_policy(self, policy: CelPolicy, result: RuleResult) -> None:
        said = self._validations.setdefault(policy.id, Counter())
        said[str(result.status)] += 1
        if result.status is Status.SKIP:
            return
        index = result.properties.get(INDEX)
        decided = int(index) if index is not None else len(policy.validations)
        for at in range(min(decided, len(policy.validations))):
            self._state(f"{policy.id}/validations[{at}]")["true"] += 1
        if index is not None and result.status in (Status.FAIL, Status.WARN):
            self._state(f"{policy.id}/validations[{decided}]")["false"] += 1

    def _state(self, name: str) -> Counter[str]:
        return self._validations.setdefault(name, Counter())

    def coverage(
        self, facets: Iterable[Facet], refused: Container[tuple[Path, str]] = ()
    ) -> Coverage:
        """Return what was reached, and what there is besides; refused: states of places that no
        API server stores."""
        return Coverage(
            (*self._of_rules(), *self._of_validations(), *self._of_facets(facets, refused))
        )

    def _of_rules(self) -> Iterator[Reached]:
        for policy in self._legacy.admitting:
            if not isinstance(policy.policy, Policy):
                continue
            for rule in policy.policy.rules:
                yield _reached(
                    LEGACY, f"rule {rule.name}", self._rules.pop(rule.name, {}), _planned(rule)
                )
        for name, states in sorted(self._rules.items()):
            yield _reached(LEGACY, f"rule {name}", states, ())

    def _of_validations(self) -> Iterator[Reached]:
        for policy in self._policies.values():
            if not isinstance(policy, CelPolicy):
                continue
            wanted = _VALIDATES if policy.validations else _ACTS
            skips = ("skip",) if policy.conditions else ()
            yield _reached(NEW, policy.id, self._validations.get(policy.id, {}), (*wanted, *skips))
            for at in range(len(policy.validations)):
                name = f"{policy.id}/validations[{at}]"
                yield _reached(NEW, name, self._validations.get(name, {}), ("true", "false"))
            branches = self._branches.get(policy.id)
            for text, states, planned in branches.states() if branches is not None else ():
                yield _reached(NEW, f"{policy.id}/{text}", states, planned)

    def _of_facets(
        self, facets: Iterable[Facet], refused: Container[tuple[Path, str]]
    ) -> Iterator[Reached]:
        states: dict[Path, set[str]] = {}
        for one in facets:
            states.setdefault(one.path, set()).update(one.states)
        for path, planned in sorted(states.items(), key=lambda item: path_text(item[0])):
            found = self._tries.get(path, Counter())
            possible = [one for one in sorted(planned) if found[one] or (path, one) not in refused]
            if possible:
                yield _reached(BOTH, path_text(path), found, possible)


def _planned(rule: Rule) -> Sequence[str]:
    validates = rule.kind.type is RuleKind.VALIDATE.type
    skips = ("skip",) if rule.preconditions else ()
    return (*(_VALIDATES if validates else _ACTS), *skips)


def _reached(form: str, name: str, states: Mapping[str, int], planned: Sequence[str]) -> Reached:
    missing = tuple(one for one in planned if not states.get(one))
    return Reached(form, name, dict(sorted(states.items())), missing)
