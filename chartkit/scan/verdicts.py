"""The effect of policies on an object: they act on it, leave it alone, or fail.

To act is to refuse, mutate, generate for, or delete. This is the rule for the examples of a policy:
it acts on an object of `bad.yaml` and leaves one of `good.yaml` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import file_state
from chartkit.documents.reader import read_file, resources
from chartkit.engine import (
    OFFLINE,
    Cleaner,
    Operation,
    Request,
    RunnablePolicy,
    World,
    as_submitted,
    evaluate,
    plan_deletions,
)
from chartkit.engine.cli_files.world import partial_api
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.model import Body, Resource, RuleResult, Status, single_line
from chartkit.scan.gate import written_rule

_REFUSED: Final = frozenset({Status.FAIL, Status.WARN})
_AT: Final = datetime(2030, 1, 1, tzinfo=UTC)
"""The time at which cleanup policies run; objects without a creation time were created then."""
CLUSTER_FILE: Final = "cluster.yaml"
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """acts: whether they act on it; looks: whether they match it at all; error: why they failed,
    empty if they did not; said: the message of a refusal; rules: those that acted, as the policy
    writes them; changed: the changed object, None if unchanged; generated: what they generate."""

    acts: bool
    looks: bool
    error: str = ""
    said: str = ""
    rules: frozenset[str] = frozenset()
    changed: Body | None = None
    generated: tuple[Body, ...] = ()

    @property
    def does(self) -> str:
        """The verb for their effect, before the object's name."""
        if not self.acts:
            return "does nothing about"
        return f"says '{self.said}' of" if self.said else "acts on"


def judge(
    admitting: Sequence[RunnablePolicy],
    cleaning: Sequence[Cleaner],
    resource: Resource,
    world: World = OFFLINE,
    operation: Operation = Operation.CREATE,
) -> Verdict:
    """Return the effect of policies on an object that is created, or exists for a cleanup policy.
    admitting, cleaning: the policies as `sorted_out` gives them; if any clean, the others are not
    evaluated; world: what else exists; operation: another one than its creation."""
    given = in_namespace(resource)
    if cleaning:
        planned, diagnostics = plan_deletions(cleaning, [as_submitted(given)], _AT, {}, world)
        error = single_line(diagnostics[0].message) if diagnostics else ""
        return Verdict(acts=bool(planned), looks=True, error=error)
    old = given if operation is Operation.UPDATE else None
    results = evaluate(admitting, Request(given, old, operation), world)
    acting = [result for result in results if _acts(result, given)]
    errors = [result for result in results if result.status is Status.ERROR]
    patched = [result.patched for result in acting if result.patched is not None]
    refused = [result for result in acting if result.status in _REFUSED]
    return Verdict(
        acts=bool(acting),
        looks=any(result.status is not Status.SKIP for result in results),
        error=single_line(errors[0].message) if errors else "",
        said=single_line(refused[0].message) if refused else "",
        rules=frozenset(written_rule(result.rule) for result in acting),
        changed=patched[-1] if patched else None,
        generated=tuple(body for result in acting for body in result.generated),
    )


def _acts(result: RuleResult, given: Resource) -> bool:
    if result.status in _REFUSED:
        return True
    changed = result.patched is not None and result.patched != as_submitted(given).body
    passed = result.status is Status.PASS
    return passed and bool(
        changed
        or result.generated
        or result.updated
        or result.patched_target
        or any(other.patched_target or other.generated for other in result.others)
    )


def example_world(example: Resource, wants_fields: bool = True) -> World:
    """Return the world for evaluating an example: the objects in `cluster.yaml` next to it; raise
    InputError for an invalid file. wants_fields: as `World` has it; a verdict names none."""
    file = Path(example.location.file).parent / CLUSTER_FILE
    return _read(file, file_state(file), wants_fields)


@lru_cache(maxsize=512)
def _read(file: Path, state: tuple[int, ...], wants_fields: bool) -> World:
    if not wants_fields:
        return replace(_read(file, state, True), wants_fields=False)
    if not file.is_file():
        return OFFLINE
    bodies = [as_submitted(resource).body for resource in resources(read_file(file))]
    return World(api=partial_api(bodies))


_Results = dict[str, dict[str, str]]
"""The gravest result of each object, by policy."""


class ReportedForms:
    """The results of both forms, as reports have them."""

    def __init__(self) -> None:
        self._legacy: _Results = {}
        self._cel: _Results = {}
        self._parts: dict[str, set[str]] = {}

    def add(self, source: str, policy: str, rule: str, resource: str, result: str) -> None:
        """Add a result of a report; results of other sources do not count."""
        form = self._legacy if source == _LEGACY else self._cel if source in _CEL else None
        if form is None or result not in _GRAVITY:
            return
        _keep(form.setdefault(policy, {}), resource, result)
        if form is self._legacy:
            # What stands behind a policy's name where a rule becomes a policy of its own.
            rule = written_rule(rule)
            parts = self._parts.setdefault(policy, set(_ACTIONS))
            parts.update((rule, *(f"{rule}-{action}" for action in _ACTIONS)))

    @property
    def differ(self) -> bool:
        """Report whether the forms of any policy differ."""
        return any(differing for _, _, differing, _ in self._policies())

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text; nothing where no policy is reported in both forms."""
        policies = list(self._policies())
        if policies:
            yield "both forms, ClusterPolicy and ValidatingPolicy, as reported:"
        for policy, names, differing, equal in policies:
            if differing:
                of = equal + len(differing)
                yield f"  {policy}: {len(differing)} of {of} objects differ; keep the ClusterPolicy"
            elif equal:
                objects = "1 object" if equal == 1 else f"{equal} objects"
                if list(names) == [policy]:
                    named = "the ValidatingPolicy"
                else:
                    noun = "the ValidatingPolicy" if len(names) == 1 else "the ValidatingPolicies"
                    named = f"{noun} {', '.join(names)}"
                yield f"  {policy}: equal for {objects}; {named} may take over"
            else:
                yield f"  {policy}: no object is reported by both forms; wait for background scans"
            for resource, (legacy, cel) in sorted(differing.items()):
                yield f"    {resource}  ClusterPolicy: {legacy}  ValidatingPolicy: {cel}"

    def _policies(self) -> Iterator[tuple[str, Sequence[str], Mapping[str, tuple[str, str]], int]]:
        """Yield each policy in both forms: the names of its new ones, the objects that differ with
        both results, and the number of those that both forms report without a difference."""
        # The ClusterPolicies that ValidatingPolicies stand for, each with their names.
        policies = {
            name: policy
            for policy in sorted(self._legacy, key=len)
            for name in (policy, *(f"{policy}-{part}"[:_LONGEST] for part in self._parts[policy]))
        }
        by_policy: dict[str, list[str]] = {}
        for name in sorted(self._cel.keys() & policies.keys()):
            by_policy.setdefault(policies[name], []).append(name)
        for policy, names in sorted(by_policy.items()):
            legacy, cel = self._legacy[policy], dict[str, str]()
            for name in names:
                for resource, result in self._cel[name].items():
                    _keep(cel, resource, result)
            pairs = {
                key: (legacy.get(key, _NONE), cel.get(key, _NONE))
                for key in legacy.keys() | cel.keys()
            }
            # All results other than violations are alike: the forms differ in the objects that
            # they skip and in those that they do not match.
            differing = {
                key: (legacy_result, cel_result)
                for key, (legacy_result, cel_result) in pairs.items()
                if legacy_result != cel_result and {legacy_result, cel_result} & _VIOLATIONS
            }
            yield policy, names, differing, len((legacy.keys() & cel.keys()) - differing.keys())


def _keep(results: dict[str, str], resource: str, result: str) -> None:
    results[resource] = max(results.get(resource, _NONE), result, key=_GRAVITY.index)
