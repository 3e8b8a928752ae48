"""Objects sorted by what a project can do with them."""

from __future__ import annotations

from typing import Final

from chartkit.engine import is_exception, is_policy
from chartkit.engine.cel_policies.admission.bindings import is_binding
from chartkit.engine.kubernetes.kinds import CEL_GROUP, KYVERNO_GROUP, group_of
from chartkit.library import upstream
from chartkit.model import Resource
from chartkit.rollout.adopt.engine import is_engine
from chartkit.rollout.adopt.model import Estate, Outcome, Piece, Row

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_REPORTED: Final = frozenset(
    ("wgpolicyk8s.io", "openreports.io", "reports.kyverno.io", "events.k8s.io")
)


class Sorter:
    """Sorts objects into an estate; added_objects: how many are none of Kyverno's."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate
        self._before = len(estate.objects)

    @property
    def added_objects(self) -> int:
        """The objects that no other place was found for."""
        return len(self._estate.objects) - self._before

    @staticmethod
    def is_kyvernos(resource: Resource) -> bool:
        """Return whether an object is a policy or another object of Kyverno's."""
        return group_of(resource) in (KYVERNO_GROUP, CEL_GROUP) or is_policy(resource)

    def add(self, piece: Piece) -> None:
        """Sort one object in."""
        resource, estate = piece.resource, self._estate
        if is_exception(resource):
            estate.exceptions.append(piece)
        elif upstream.is_policy(resource.body) or is_binding(resource) or is_policy(resource):
            self._policy(piece)
        elif group_of(resource) in (KYVERNO_GROUP, CEL_GROUP):
            message = "no chart of chartkit's carries this kind"
            hint = "go on installing it as you do now"
            estate.rows.append(Row(Outcome.LEFT, piece.subject, message, resource.location, hint))
        elif is_engine(resource):
            estate.engine.append(resource)
        elif group_of(resource) not in _REPORTED:
            estate.objects.append(resource)

    def _policy(self, piece: Piece) -> None:
        labels = piece.resource.body.get("metadata", {}).get("labels")
        if isinstance(labels, dict) and labels.get(_MANAGED_BY) == _KYVERNO:
            return  # Kyverno made it of one of its own, which says the same.
        self._estate.policies.append(piece)


_KYVERNO: Final = "kyverno"
