"""The Pod that the Pod Security Standards judge, and loops over its containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.rule import Variable
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.engine.kubernetes.kinds import CRON_JOB, POD_SPECS, GroupVersionKind

CONTAINER: Final = "container"
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_ALL: Final = "allContainers"
_POD: Final = "Pod"
_OF_CRON_JOBS: Final = POD_SPECS[CRON_JOB]


@dataclass(frozen=True, slots=True)
class PodPlaces:
    """The places of a Pod, or of a controller's template."""

    metadata: Place
    spec: Place

    @property
    def security(self) -> Place:
        """Return the place of the Pod's own `securityContext`."""
        return self.spec.child("securityContext")

    @property
    def lists(self) -> Mapping[str, Place]:
        """Return the places of the lists of containers, by their fields."""
        return {name: self.spec.child(name) for name in _LISTS}

    @property
    def is_windows(self) -> Expr:
        """Report whether the Pod says that it is for Windows."""
        return cel.equal(self.spec.child("os").child("name").or_value(""), "windows")

    def every(self, bodies: Mapping[str, Expr]) -> Expr:
        """Report whether a test holds for every container; bodies: the test by list."""
        if len(set(bodies.values())) == 1:
            return _loop(cel.variable(_ALL), bodies[_LISTS[0]])
        loops = (_loop(self.lists[name].or_value([]), body) for name, body in bodies.items())
        return conjunction(*loops)

    def some(self, body: Expr) -> Expr:
        """Report whether a test holds for some container of any list."""
        return cel.macro(cel.variable(_ALL), "exists", CONTAINER, body)

    def variables(self, expressions: Sequence[Expr]) -> tuple[Variable, ...]:
        """Return the variables that expressions about containers name."""
        if not any(tree.count(expression, cel.variable(_ALL)) for expression in expressions):
            return ()
        first, *others = (place.or_value([]) for place in self.lists.values())
        for other in others:
            first = cel.compare("+", first, other)
        return (Variable(_ALL, first),)


def _loop(elements: Expr, body: Expr) -> Expr:
    return cel.TRUE if body == cel.TRUE else cel.macro(elements, "all", CONTAINER, body)


def pod_of(object_: Place, kinds: Sequence[GroupVersionKind]) -> PodPlaces:
    """Return the Pod of objects of several kinds; raises `NotConvertible`."""
    paths = {"spec" if kind.kind == _POD else POD_SPECS.get(kind.kind, "") for kind in kinds}
    path = paths.pop() if len(paths) == 1 else ""
    if not path:
        raise NotConvertible("its kinds do not all have their Pods in one place", "match")
    *steps, last = path.split(".")
    template = reduce(Place.child, steps, object_)
    # Of a CronJob, Kyverno judges the annotations of its job template.
    described = reduce(Place.child, steps[:-2], object_) if path == _OF_CRON_JOBS else template
    return PodPlaces(described.child("metadata"), template.child(last))
