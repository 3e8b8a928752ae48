"""Objects that rules write but no API server accepts, such as after a mutation of the wrong
type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chartkit.model import Body, Resource, RuleResult, Status


def with_refusals(resource: Resource, results: Sequence[RuleResult]) -> Sequence[RuleResult]:
    """Return the results, with `unmade` set to the fields of a wrong type that a rule introduces.
    Fields that were wrong before count for no rule.

    What was wrong before is not the rule's doing, and is not said of the rules after it again.
    """
    for result in results:
        if result.patched or result.patched_target or result.generated or result.updated:
            break
    else:
        return results
    from chartkit.engine.cel.shapes.faults import type_faults

    known = set(type_faults(resource.body))
    found: list[RuleResult] = []
    for result in results:
        made = _made(result) if result.status is Status.PASS else ()
        faults = [fault for body in made for fault in type_faults(body) if fault not in known]
        if faults and not result.unmade:
            known.update(faults)
            text = f"an API server refuses the object: {'; '.join(faults)}"
            result = replace(result, unmade=text)
        found.append(result)
    return found


def _made(result: RuleResult) -> Iterator[Body]:
    if result.patched:
        yield result.patched
    if result.patched_target:
        yield result.patched_target
    yield from result.generated
    yield from result.updated
