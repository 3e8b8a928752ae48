"""The equality of two answers.

- The result is a failure, a warning (a failure of a policy that is not scored), an error, a pass or
  nothing: the strongest of all rules of the one form against the strongest of all policies of the
  other. Rules that are skipped say nothing. A policy in CEL stops at its first validation that
  fails or errs; where rules of the legacy form do both, either is right.
- An admission is denied or not: a failure under Enforce or Deny, an error under Enforce (unless the
  failure policy is Ignore) or Deny. Warnings count where it is not denied.
- A message of a failure in CEL is that of one of the failing rules. Kyverno's words around it, and
  messages of rules that have none of their own, are passed over.
- The mutated object, mutated targets and generated objects are equal as JSON; the order of keys,
  and labels by which Kyverno knows what it generated, are passed over. That a mutation changes
  nothing, does not match or is skipped is the same.
- A cleanup policy deletes the same objects by the same schedule and propagation.
- Background scans (requests without a user) are compared in the same way, without admission.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from chartkit.addons.migrate.proof.model import Answer, Aspect, Result
from chartkit.model import Json

_QUIET: Final = frozenset((Result.NONE, Result.PASS))
_TROUBLE: Final = frozenset((Result.FAIL, Result.WARN, Result.ERROR))


def difference(legacy: Answer, new: Answer) -> Aspect | None:
    """Return the first aspect in which two answers differ; None where they are equal."""
    if legacy is new:
        return None
    if not _same_result(legacy, new) or bool(legacy.failed) is not bool(new.failed):
        return Aspect.RESULT
    if legacy.denied is not new.denied:
        return Aspect.ADMISSION
    for aspect, one, other in (
        (Aspect.MUTATION, legacy.patched, new.patched),
        (Aspect.TARGETS, legacy.targets, new.targets),
        (Aspect.GENERATION, legacy.generated, new.generated),
    ):
        if one != other and canonical(one) != canonical(other):
            return aspect
    if legacy.deletes != new.deletes:
        return Aspect.DELETION
    if not legacy.denied and legacy.warned is not new.warned:
        return Aspect.WARNING
    if legacy.result is not new.result and legacy.result in _QUIET:
        return Aspect.REPORT
    if not _same_message(legacy.messages, new.messages):
        return Aspect.MESSAGE
    return None


def _same_result(legacy: Answer, new: Answer) -> bool:
    if legacy.result is new.result:
        return True
    if legacy.result in _QUIET and new.result in _QUIET:
        return True
    return legacy.also_errs and legacy.result in _TROUBLE and new.result in _TROUBLE


def _same_message(legacy: Iterable[str], new: Iterable[str]) -> bool:
    known = set(legacy)
    return not known or "" in known or all(not text or text in known for text in new)


def canonical(value: Json) -> str:
    """Return a JSON value as a text that is the same for equal values; whole numbers are equal
    however they are written."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
