"""The effect of policies on an object: they act on it, leave it alone, or fail.

To act is to refuse, mutate, generate for, or delete. This is the rule for the examples of a policy:
it acts on an object of `bad.yaml` and leaves one of `good.yaml` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file, resources
from chartkit.engine import (
    OFFLINE,
    Cleaner,
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
from chartkit.scan.gate.violation import written_rule

_REFUSED: Final = frozenset({Status.FAIL, Status.WARN})
_AT: Final = datetime(2030, 1, 1, tzinfo=UTC)
"""The time at which cleanup policies run; objects without a creation time were created then."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """acts: whether they act on it; looks: whether they match it at all; error: why they failed,
    empty if they did not; said: the message of a refusal; rules: those that acted, as the policy
    writes them; changed: the changed object, None if unchanged."""

    acts: bool
    looks: bool
    error: str = ""
    said: str = ""
    rules: frozenset[str] = frozenset()
    changed: Body | None = None

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
) -> Verdict:
    """Return the effect of policies on an object that is created, or exists for a cleanup policy.

    admitting, cleaning: the policies as `sorted_out` gives them; if any clean, the others are not
    evaluated; world: what else exists.
    """
    given = in_namespace(resource)
    if cleaning:
        planned, diagnostics = plan_deletions(cleaning, [as_submitted(given)], _AT, {}, world)
        error = single_line(diagnostics[0].message) if diagnostics else ""
        return Verdict(acts=bool(planned), looks=True, error=error)
    results = evaluate(admitting, Request(given), world)
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


CLUSTER_FILE: Final = "cluster.yaml"


def example_world(example: Resource, wants_fields: bool = True) -> World:
    """Return the world for evaluating an example: the objects in `cluster.yaml` next to it; raise
    InputError for an invalid file. wants_fields: as `World` has it; a verdict names none."""
    return _read(Path(example.location.file).parent / CLUSTER_FILE, wants_fields)


@lru_cache(maxsize=512)
def _read(file: Path, wants_fields: bool) -> World:
    if not wants_fields:
        return replace(_read(file, True), wants_fields=False)
    if not file.is_file():
        return OFFLINE
    bodies = [as_submitted(one).body for one in resources(read_file(file))]
    return World(api=partial_api(bodies))
