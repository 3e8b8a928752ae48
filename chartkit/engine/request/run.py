"""One request on its way through the phases of admission, whatever the kind of its policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from chartkit.engine.budget import Budget, BudgetError, check_object
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.ports.world import World
from chartkit.engine.request.request import Request
from chartkit.go.int64 import mark_literals
from chartkit.model import Body, Resource, RuleResult, Status


class View(Protocol):
    """A run as one kind of policies sees it."""

    def changed(self) -> None:
        """Forget the request; a rule patched its object."""
        ...


V = TypeVar("V", bound=View)


class Run:
    """A request and its state between policies.

    request: as JMESPath sees it; unmarked: its object without marks at its numbers; settle: what
    changes results once all policies have been evaluated.
    """

    __slots__ = ("_unscored", "_views", "budget", "kind", "request", "settle", "unmarked", "world")

    def __init__(self, request: Request, world: World) -> None:
        self.world = world
        self.kind = request.kind or kind_of(request.resource)
        self.budget = Budget()
        self.request = request
        self.unmarked = request.resource
        self.settle: Callable[[RuleResult], RuleResult] | None = None
        self._views: dict[Callable[[Run], Any], Any] = {}
        self._unscored: set[str] = set()

    def view(self, make: Callable[[Run], V]) -> V:
        """Return the run as one kind of policies sees it, made once."""
        view: V | None = self._views.get(make)
        if view is None:
            view = self._views[make] = make(self)
        return view

    def record(self, result: RuleResult, scored: bool, results: list[RuleResult]) -> RuleResult:
        """Add a result as Kyverno reports it; an object that it patched goes on to the next."""
        if result.patched:
            result = _sized(result)
        if not scored:
            self._unscored.add(result.policy_id)
        if result.properties or not scored:
            result = _reported(result, scored)
        results += (replace(result, others=()), *result.others) if result.others else (result,)
        if result.patched is not None:
            self._patch(result.patched)
        return result

    def settled(self, results: Iterable[RuleResult]) -> list[RuleResult]:
        """Return results as they are once all policies have been evaluated."""
        if self.settle is None:
            return list(results)
        return [self._settled(one, self.settle) for one in results]

    def _settled(
        self, result: RuleResult, settle: Callable[[RuleResult], RuleResult]
    ) -> RuleResult:
        settled = settle(result)
        if settled is result:
            return result
        return _reported(settled, result.policy_id not in self._unscored)

    def _patch(self, body: Body) -> None:
        # Kyverno decodes it again, and whole numbers become int64.
        location = self.request.resource.location
        marked, self.unmarked = Resource(mark_literals(body), location), Resource(body, location)
        self.request = replace(self.request, resource=marked, unmarked=self.unmarked)
        for view in self._views.values():
            view.changed()


def _sized(result: RuleResult) -> RuleResult:
    """Return the result of a mutation; an error for an object that no API server takes."""
    try:
        check_object(result.patched, "the mutated object")
    except BudgetError as error:
        patched: Body | None = None if result.kind else {}
        return replace(result, status=Status.ERROR, message=error.message, patched=patched)
    return result


def _reported(result: RuleResult, scored: bool) -> RuleResult:
    """Return a result as reports have it: a property may give the message, and a failure of a
    policy that is not scored is a warning."""
    if result.properties:
        properties = result.properties
        text = properties.get("message") or properties.get(f"{result.status}Message")
        if text:
            result = replace(result, message=text)
    if result.status is Status.FAIL and not scored:
        return replace(result, status=Status.WARN)
    return result
