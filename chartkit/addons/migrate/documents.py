"""Policies that were read before, migrated: what `chartkit.api` asks this add-on for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext

from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.files.printed import difference_sentence, faults
from chartkit.addons.migrate.files.run import Migration, Migrator
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.options import ConversionOptions, InventoryOptions
from chartkit.addons.migrate.plan.inventory import Inventory, inventory_of
from chartkit.addons.migrate.proof import Proof
from chartkit.api import Counterexample, Manifests, MigratedPolicy, Verdict
from chartkit.api import Migration as Answer
from chartkit.model import Resource


def migrated(policies: Manifests, prove: bool, objects: Manifests | None) -> Answer:
    """Return what becomes of the policies of kyverno.io; objects: for every proof."""
    inventory = inventory_of(policies.objects)
    found = converted(inventory, prove, () if objects is None else objects.objects)
    text = Migration(inventory, found).text
    return Answer(text, tuple(map(_policy, found)), tuple(inventory.findings))


def converted(
    inventory: Inventory,
    prove: bool = True,
    objects: Sequence[Resource] = (),
    seconds: float | None = None,
) -> list[MigratedObject]:
    """Return what becomes of legacy objects; objects: for every proof; seconds: of processor time
    for each, or the number of requests of the command line for None."""
    options = ConversionOptions(
        inventory=InventoryOptions(),
        prove=prove,
        proof_seconds=seconds,
        objects=(),
        allowed=(),
        jobs=1,
    )
    batch = Batch((each.current or each.resource for each in inventory.objects), options.target)
    return [*Migrator(options, objects, {}, batch).all(inventory.objects, _unseen)]


def _unseen(_steps: int) -> nullcontext[Callable[[], None]]:
    return nullcontext(lambda: None)


def _policy(each: MigratedObject) -> MigratedPolicy:
    differences = () if each.proof is None else faults(each.proof)
    outcomes = each.outcomes
    return MigratedPolicy(
        each.legacy.resource,
        tuple(each.documents),
        verdict(filter(None, [each.proof])),
        tuple(Counterexample(difference_sentence(one), one.case.document) for one in differences),
        {outcome.rule: outcome.reason for outcome in outcomes if not outcome.converted},
        tuple(dict.fromkeys(change for outcome in outcomes for change in outcome.changes)),
    )


def verdict(proofs: Iterable[Proof]) -> Verdict:
    """Return what the proofs of a policy, or of several, say together: a difference counts most."""
    found = tuple(proofs)
    if any(map(faults, found)):
        return Verdict.DIFFERS
    if all(proof.equal for proof in found):
        return Verdict.EQUAL if found else Verdict.UNPROVED
    return Verdict.UNDECIDED
