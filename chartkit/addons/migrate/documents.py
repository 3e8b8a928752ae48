"""Policies that were read before, migrated: what `chartkit.api` asks this add-on for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.files.printed import difference_sentence, faults
from chartkit.addons.migrate.files.run import Migration, Migrator
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.options import ConversionOptions, InventoryOptions
from chartkit.addons.migrate.plan.inventory import inventory_of
from chartkit.addons.migrate.proof import Proof
from chartkit.api import Counterexample, Manifests, MigratedPolicy, Verdict
from chartkit.api import Migration as Answer

INPUTS: Final = InventoryOptions(
    paths=(),
    values=(),
    named_namespace=None,
    release="release",
    kube_version=None,
    cluster=False,
    context=None,
    record=None,
)


def migrated(policies: Manifests, prove: bool, objects: Manifests | None) -> Answer:
    """Return what becomes of the policies of kyverno.io; objects: for every proof."""
    options = ConversionOptions(
        inventory=INPUTS, prove=prove, proof_seconds=None, objects=(), allowed=(), jobs=1
    )
    inventory = inventory_of(policies.objects)
    batch = Batch((each.current or each.resource for each in inventory.objects), options.target)
    migrator = Migrator(options, () if objects is None else objects.objects, {}, batch)
    found = migrator.all(inventory.objects, _unseen)
    text = Migration(inventory, found).text
    return Answer(text, tuple(map(_policy, found)), tuple(inventory.findings))


def _unseen(_steps: int) -> nullcontext[Callable[[], None]]:
    return nullcontext(lambda: None)


def _policy(each: MigratedObject) -> MigratedPolicy:
    differences = () if each.proof is None else faults(each.proof)
    outcomes = each.outcomes
    return MigratedPolicy(
        each.legacy.resource,
        tuple(each.documents),
        _verdict(each.proof),
        tuple(Counterexample(difference_sentence(one), one.case.document) for one in differences),
        {outcome.rule: outcome.reason for outcome in outcomes if not outcome.converted},
        tuple(dict.fromkeys(change for outcome in outcomes for change in outcome.changes)),
    )


def _verdict(proof: Proof | None) -> Verdict:
    if proof is None:
        return Verdict.UNPROVED
    if proof.equal:
        return Verdict.EQUAL
    return Verdict.DIFFERS if faults(proof) else Verdict.UNDECIDED
