"""The permissions that Kyverno's controllers need for policies, and what else policies need.

Computed from policies' texts; the chart carries the outcome by policy (`data/permissions.json`) and
makes ClusterRoles of what the installed ones need, which Kyverno's own roles gather by their label
`rbac.kyverno.io/aggregate-to-CONTROLLER`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from chartkit.charts.rbac.cel_policy import cel_needs
from chartkit.charts.rbac.cluster_policy import cleanup_needs, policy_needs
from chartkit.charts.rbac.requirements import Findings, Needs, Permission, granted
from chartkit.documents.reader import read_file
from chartkit.kyverno.cel_policy_fields import GROUP, KINDS, NAMESPACED
from chartkit.kyverno.controllers import known_kinds
from chartkit.model import Body

LABEL: Final = "rbac.kyverno.io/aggregate-to-"
"""The prefix of the label that aggregates a ClusterRole into Kyverno's roles; the controller
follows."""
DEFINITIONS_FILE: Final = "crds.yaml"
"""The definitions of the custom kinds that a policy names, in its folder."""
_DEFINITION: Final = "CustomResourceDefinition"
_PLAIN_GROUP: Final = "kyverno.io"
_RULES: Final = {
    "ClusterPolicy": policy_needs,
    "Policy": policy_needs,
    "ClusterCleanupPolicy": cleanup_needs,
    "CleanupPolicy": cleanup_needs,
}


def needs(bodies: Iterable[Body], definitions: Iterable[Body] = ()) -> Needs:
    """Return the needs of policies beyond the permissions of Kyverno's chart.

    bodies: policies of kyverno.io and policies.kyverno.io, others need nothing of Kyverno;
    definitions: custom resource definitions, for the names of their kinds.
    """
    found = Findings(known_kinds(definitions))
    for body in bodies:
        group = str(body.get("apiVersion")).partition("/")[0]
        kind = str(body.get("kind"))
        if group == _PLAIN_GROUP and kind in _RULES:
            _RULES[kind](body, found)
        elif group == GROUP and kind in KINDS:
            cel_needs(kind.removeprefix(NAMESPACED), body, found)
    return Needs(
        permissions=tuple(sorted(_missing(found), key=_order)),
        config_maps=tuple(sorted(found.config_maps)),
        global_entries=tuple(sorted(found.global_entries)),
        unknown=tuple(found.unknown),
    )


def definitions_beside(folder: Path) -> tuple[Body, ...]:
    """The custom resource definitions in a policy's folder; raises InputError where they cannot be
    read."""
    file = folder / DEFINITIONS_FILE
    found = read_file(file) if file.is_file() else ()
    bodies = (each.body for each in found if isinstance(each.body, dict))
    return tuple(body for body in bodies if body.get("kind") == _DEFINITION)


def _missing(found: Findings) -> Iterator[Permission]:
    """Return the permissions that no role of Kyverno's gives; those of scans only if nothing
    else needs the same."""
    for (controller, group, resource, scan), verbs in found.verbs.items():
        has = granted(controller).get((group, resource), frozenset())
        also = found.verbs.get((controller, group, resource, False), set()) if scan else set()
        lacking = tuple(sorted(verbs - has - also))
        if lacking:
            guessed = found.guesses[group, resource]
            yield Permission(controller, group, resource, lacking, scan, guessed)


def _order(permission: Permission) -> tuple[str, str, str, bool]:
    return permission.controller, permission.group, permission.resource, permission.scan


def as_json(found: Needs) -> list[Body]:
    """The permissions for the chart's templates; scan and guessed stand where there are such."""
    return [
        {
            "controller": each.controller.value,
            "group": each.group,
            "resource": each.resource,
            "verbs": list(each.verbs),
            **({"scan": True} if each.scan else {}),
            **({"guessed": each.guessed} if each.guessed else {}),
        }
        for each in found.permissions
    ]
