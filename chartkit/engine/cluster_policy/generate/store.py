"""The objects as one generate rule meets them: those that are there and those it has made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.budget import Budget, check_object
from chartkit.engine.json_patch.nodes import same
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.engine.ports.cluster import Cluster, ObjectKey, key_of
from chartkit.model import Body


class Store:
    """A cluster, the object that triggered the rule, and what the rule has made so far."""

    __slots__ = ("_cluster", "_made", "_trigger", "_updated", "budget", "trigger")

    def __init__(self, cluster: Cluster, trigger: Body, budget: Budget) -> None:
        self.trigger = trigger
        self.budget = budget
        self._cluster = cluster
        self._trigger = Cluster((trigger,))
        self._made: dict[ObjectKey, Body] = {}
        self._updated: dict[ObjectKey, Body] = {}

    @property
    def made(self) -> tuple[Body, ...]:
        """Return the objects of the rule, in order, each as it was last written."""
        return tuple(self._made.values())

    @property
    def updated(self) -> tuple[Body, ...]:
        """Objects that were there before, as the rule last wrote them."""
        return tuple(self._updated.values())

    def find(self, key: ObjectKey) -> Body | None:
        """The object of a key; None where there is none."""
        made = self._made.get(key) or self._updated.get(key)
        return made or self._trigger.find(key) or self._cluster.find(key)

    def select(
        self, api_version: str, kind: str, namespace: str, selector: LabelSelector | None
    ) -> Iterator[Body]:
        """The objects of a kind that were there before the rule ran."""
        own = key_of(self.trigger)
        for body in self._trigger.select(api_version, kind, namespace, selector):
            yield body
        for body in self._cluster.select(api_version, kind, namespace, selector):
            if key_of(body) != own:
                yield body

    def write(self, key: ObjectKey, body: Body) -> None:
        """Creates an object or writes over one; what the API server alone sets stays.

        Raises `BudgetError` for an object that no API server takes.
        """
        check_object(body, "a generated object")
        there = None if key in self._made else self.find(key)
        if there is None:
            self._made[key] = body
            return
        body = _with_server_fields(body, there)
        if not same(body, there):
            self._updated[key] = body


def _with_server_fields(body: Body, there: Body) -> Body:
    own = {key: there["metadata"][key] for key in OF_ONE_OBJECT if key in there["metadata"]}
    body = {**body, "metadata": {**body["metadata"], **own}}
    if "status" in there:
        body.setdefault("status", there["status"])
    return body


OF_ONE_OBJECT: Final = (
    "uid",
    "selfLink",
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
)
"""Metadata that the API server gives each object."""
