"""Conversions that are broken on purpose, to find what a proof does not see.

`python -m tools.mutate_conversions PATH…` converts the legacy policies in files, folders and
charts, changes one thing in what they become (an operator, a literal, a part left out, a setting)
and proves each of these as `chartkit migrate policies` does. It prints those of which no proof
finds a difference: equal ones, and gaps in the requests that proofs make. Exit code 1 if there are
any but those that change reports alone, that are equal for a known reason (`_EQUAL`), and that only
a registry or a service could show.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.options import InventoryOptions
from chartkit.addons.migrate.plan.inventory import read_inventory, without_copies
from chartkit.addons.migrate.proof import Proof, prove
from chartkit.addons.mutation.mutants import changes
from chartkit.engine import is_exception
from chartkit.errors import ChartkitError
from chartkit.model import Body, Resource, path_text

_EQUAL: Final = {
    "has(object.metadata)": "equal: a template has the labels by which its controller selects Pods",
}
"""By a part that is left out or always true: why the policy stays the same."""
_NOT_FOUND: Final = "not found"
_UNANSWERED: Final = "answers of registries and services"


@dataclasses.dataclass(frozen=True, slots=True)
class Mutant:
    """A converted policy with one change; change: what it is."""

    change: str
    documents: Sequence[Body]


def main() -> int:
    """Prove mutants and print those that are not told from the original."""
    parser = argparse.ArgumentParser(prog="tools.mutate_conversions", description=__doc__)
    parser.add_argument("path", nargs="+")
    parser.add_argument("--each", type=int, default=4, help="mutants of each policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the names of policies")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for legacy in _policies(options.path):
        if options.only not in legacy.name:
            continue
        for mutant, outcome in _outcomes(legacy, options.each, options.seed):
            counts[outcome] += 1
            if outcome == _NOT_FOUND:
                _say(f"{legacy.location}: {legacy.name}: {mutant.change}")
    _say(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if counts[_NOT_FOUND] else 0


def _policies(paths: Sequence[str]) -> Iterator[Resource]:
    inventory = read_inventory(InventoryOptions(paths=tuple(paths)), sys.stdin, lambda _: None)
    for legacy in without_copies(inventory).objects:
        if not (legacy.refused or legacy.is_code or is_exception(legacy.resource)):
            yield legacy.current or legacy.resource


def _outcomes(legacy: Resource, count: int, seed: int) -> Iterator[tuple[Mutant, str]]:
    """Yield some mutants of what a policy becomes, with what a proof says of each; none where it
    says of the unchanged form that it differs or decides nothing."""
    try:
        conversion = convert(legacy)
        if not conversion.documents:
            return
        unchanged = _proof(conversion, conversion.documents)
        if not unchanged.equal:
            return
    except ChartkitError:
        return
    possible = list(mutants(conversion.documents))
    chance = random.Random(f"{seed} {legacy.name}")
    for mutant in chance.sample(possible, min(count, len(possible))):
        try:
            proof = _proof(conversion, mutant.documents)
        except ChartkitError:
            yield mutant, "refused"
        else:
            yield mutant, _outcome(mutant, proof, unchanged) if proof.equal else "found"


def _outcome(mutant: Mutant, proof: Proof, unchanged: Proof) -> str:
    """Return the outcome of a mutant that answers as the original does, or says why it may not."""
    parts = mutant.change.partition(": ")[2].removeprefix("without ").partition(" -> ")
    if proof.named.keys() - unchanged.named.keys():
        return "found in reports alone"
    if proof.left_out.get(_UNANSWERED):
        return f"not found for want of {_UNANSWERED}"
    return _EQUAL.get(parts[0].removesuffix(" (part left out)"), _NOT_FOUND)


def _proof(conversion: Conversion, documents: Sequence[Body]) -> Proof:
    left = [conversion.remaining] if conversion.remaining is not None else []
    forms = [Resource(body, conversion.legacy.location) for body in (*documents, *left)]
    options = dataclasses.replace(proof_options(conversion), stops_early=True)
    return prove(conversion.legacy, forms, options=options)


def mutants(documents: Sequence[Body]) -> Iterator[Mutant]:
    """Yield what documents become by one change."""
    for index, body in enumerate(documents):
        for change in changes(body):
            changed = [*documents[:index], change.applied(body), *documents[index + 1 :]]
            place = path_text(change.path)
            yield Mutant(f"{body['kind']} {place}: {change.text} ({change.part})", changed)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
