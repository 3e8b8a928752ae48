"""The rules of a policy of which a proof finds that their new form differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from chartkit.addons.migrate.acceptance import remaining_policy
from chartkit.addons.migrate.conversion import Conversion, NotConvertible
from chartkit.addons.migrate.files.printed import difference_sentence
from chartkit.addons.migrate.proof import Proof
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.model import Resource

DIFFERS: Final = "the proof found a difference between both forms"
_MOST_ROUNDS: Final = 4
"""The most proofs of what is left: each takes as long as the first one."""
Left: TypeAlias = Mapping[int, NotConvertible]
"""Why rules are left, by their index."""
Convert: TypeAlias = Callable[[Resource, Left], Conversion]
Prove: TypeAlias = Callable[[Conversion, Sequence[Case]], Proof | None]
"""Proves a conversion with the requests of a proof, or with given ones alone."""


def without_differing(
    conversion: Conversion, proof: Proof, convert: Convert, prove: Prove
) -> tuple[Conversion, Proof]:
    """Return a conversion that leaves the rules which differ, and its proof; the same conversion
    where these are all of its rules, or the proof cannot single them out."""
    whole, converted = (conversion, proof), conversion
    left = dict[int, NotConvertible]()
    number = sum(outcome.converted for outcome in conversion.outcomes)
    for _ in range(_MOST_ROUNDS):
        cases = [difference.case for difference in proof.differences if difference.stored]
        if not cases:
            break
        differing = _differing(converted, cases, convert, prove)
        differing |= {} if differing else _entangled(converted, left, cases, convert, prove)
        left |= differing
        if not differing or len(left) == number:
            return whole
        converted = convert(conversion.legacy, left)
        proved = prove(converted, ())
        if proved is None:
            return whole
        proof = proved
    return (converted, proof) if proof.equal else whole


def _differing(
    conversion: Conversion, cases: Sequence[Case], convert: Convert, prove: Prove
) -> dict[int, NotConvertible]:
    """Return the rules that differ by themselves at requests, by their index."""
    differing: dict[int, NotConvertible] = {}
    for index, outcome in enumerate(conversion.outcomes):
        alone = remaining_policy(conversion.legacy, [index])
        if not outcome.converted or alone is None:
            continue
        proof = prove(convert(Resource(alone, conversion.legacy.location), {}), cases)
        stored = [row for row in proof.differences if row.stored] if proof is not None else []
        if stored:
            differing[index] = NotConvertible(f"{DIFFERS}: {difference_sentence(stored[0])}")
    return differing


def _entangled(
    conversion: Conversion, left: Left, cases: Sequence[Case], convert: Convert, prove: Prove
) -> Left:
    """Return the last rule without which the others do not differ at requests, by its index: such
    as one that changes what a rule changes that is left, and has to come after it."""
    reason = NotConvertible(f"{DIFFERS} next to the other rules of its policy")
    for index, outcome in reversed(list(enumerate(conversion.outcomes))):
        if outcome.converted:
            proof = prove(convert(conversion.legacy, {**left, index: reason}), cases)
            if proof is None or not any(row.stored for row in proof.differences):
                return {index: reason}
    return {}
