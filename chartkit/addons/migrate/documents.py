"""Policies that were read before, migrated: what `chartkit.api` asks this add-on for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from chartkit.addons.migrate.files.run import Migration, migrator_of
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.options import ConversionOptions
from chartkit.addons.migrate.plan.inventory import Inventory, inventory_of
from chartkit.api import Manifests, MigratedPolicy
from chartkit.api import Migration as Answer
from chartkit.model import Resource


def migrated(policies: Manifests, prove: bool, objects: Manifests | None) -> Answer:
    """Return what becomes of the policies of kyverno.io; objects: for every proof."""
    inventory = inventory_of(policies.objects)
    results = converted(inventory, prove, () if objects is None else objects.objects)
    text = Migration(inventory, results).text
    return Answer(text, tuple(map(_policy, results)), tuple(inventory.findings))


def converted(
    inventory: Inventory,
    prove: bool = True,
    objects: Sequence[Resource] = (),
    seconds: float | None = None,
) -> list[MigratedObject]:
    """Return what becomes of legacy objects; objects: for every proof; seconds: of processor time
    for each, or the number of requests of the command line for None."""
    options = ConversionOptions(prove=prove, proof_seconds=seconds)
    return migrator_of(options, inventory, objects).all(inventory.objects, _unseen)


def _unseen(_steps: int) -> nullcontext[Callable[[], None]]:
    return nullcontext(lambda: None)


def _policy(migrated_object: MigratedObject) -> MigratedPolicy:
    outcomes = migrated_object.outcomes
    return MigratedPolicy(
        migrated_object.legacy.resource,
        tuple(migrated_object.documents),
        migrated_object.verdict,
        migrated_object.counterexamples,
        {outcome.rule: outcome.reason for outcome in outcomes if not outcome.converted},
        tuple(dict.fromkeys(change for outcome in outcomes for change in outcome.changes)),
    )
