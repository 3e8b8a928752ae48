"""Exceptions that stay next to their new forms: charts render ClusterPolicies until their values
change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from chartkit.addons.migrate.convert import excepts, policy_key
from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.addons.migrate.plan.inventory import Inventory, LegacyObject
from chartkit.addons.migrate.plan.origin import Tool
from chartkit.engine import is_exception
from chartkit.engine.cluster_policy.policy import KINDS
from chartkit.engine.kubernetes.kinds import CEL_GROUP, group_of
from chartkit.engine.policies import EXCEPTION
from chartkit.model import Resource
from chartkit.scan.inputs import is_object


def object_key(legacy: LegacyObject) -> tuple[str, str]:
    """Return the kind of a legacy object, and its name with its namespace."""
    return legacy.resource.kind, policy_key(legacy.resource)


def rendered_objects(objects: Iterable[LegacyObject]) -> set[tuple[str, str]]:
    """Return the objects that charts render, by kind and name: they stay as long as the values of
    the charts say so."""
    return {object_key(item) for item in objects if item.origin.tool is Tool.CHART}


def beside_charts(
    inventory: Inventory, migrated: Iterable[MigratedObject], rendered: Collection[tuple[str, str]]
) -> Iterator[MigratedObject]:
    """Yield objects, of which exceptions from what charts render stay next to their new forms,
    without those that have these already."""
    names = {name for kind, name in rendered if kind in KINDS}
    there = {
        policy_key(Resource(document.body))
        for documents in (inventory.documents.values() if names else ())
        for document in documents
        if is_object(document) and document.body["kind"] == EXCEPTION
        if group_of(Resource(document.body)) == CEL_GROUP
    }
    for item in migrated:
        resource, conversion = item.legacy.resource, item.conversion
        is_kept = is_exception(resource) and any(excepts(resource, name) for name in names)
        if not is_kept or conversion is None or item.legacy.document is None:
            yield item
        elif policy_key(resource) not in there:
            yield replace(item, conversion=replace(conversion, remaining=resource.body))
