"""Exclusions from controls: each lifts faults of the Pod itself, or of containers by their images.

An exclusion without images lifts what a Pod with one silent container breaks: the Pod's own
faults, and one container's lack of what every container must say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import fits, fits_any
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.validate.pod_security.pod import CONTAINER, PodPlaces
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body

Values = Sequence[str]
Fits = Callable[[Values], Expr]
"""Return whether all bad values that a field has here fit some wildcards."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An entry of `exclude`, of one control.

    images: wildcards, none for the Pod itself; field: `restrictedField`, empty for every field;
    values: wildcards that all bad values must match, none for any.
    """

    images: Values
    field: str
    values: Values

    def covers(self, field: str) -> bool:
        """Return whether it speaks of a field."""
        return self.field in ("", field)

    def lifts(self, bad: Fits) -> Expr:
        """Return whether it lifts the fault of a field that it speaks of."""
        return bad(self.values) if self.values else cel.TRUE


Exclusions = tuple[Exclusion, ...]


def exclusion(body: Body) -> Exclusion:
    """Return an entry of `exclude`."""
    return Exclusion(
        tuple(body.get("images") or ()),
        body.get("restrictedField") or "",
        tuple(body.get("values") or ()),
    )


def always(text: str) -> Fits:
    """Return the test of a bad value that can only be this text."""

    def fit(values: Values) -> Expr:
        return cel.literal(any(compile_wildcard(each)(text) for each in values))

    return fit


def silent(_values: Values) -> Expr:
    """Return the test of a fault without a value, which any exclusion lifts."""
    return cel.TRUE


def text(value: Expr) -> Fits:
    """Return the test of a text that is bad; an empty one is no value, which fits in any case."""
    return lambda values: disjunction(cel.equal(value, ""), fits_any(value, values))


def of_pod(ok: Expr, field: str, exclusions: Exclusions, bad: Fits) -> Expr:
    """Return a test of the Pod's own field, with the exclusions that lift its fault."""
    lifting = (each.lifts(bad) for each in exclusions if not each.images and each.covers(field))
    return disjunction(ok, *lifting)


@dataclass(frozen=True, slots=True)
class ContainerCheck:
    """A test of every container.

    field: the path in a container, as in `restrictedField`; holds: the test; bad: of the value of
    a container that does not pass; required: whether a container that says nothing breaks it.
    """

    field: str
    holds: Callable[[Place], Expr]
    bad: Callable[[Place], Fits]
    required: bool = False

    def everywhere(self, pod: PodPlaces, exclusions: Exclusions) -> Expr:
        """Return whether every container passes, or is excluded; raises `NotConvertible`."""
        bodies = {
            name: self._body(place.element(CONTAINER), f"spec.{name}[*].{self.field}", exclusions)
            for name, place in pod.lists.items()
        }
        if self.required and bodies["containers"] != cel.TRUE:
            require_images(f"spec.containers[*].{self.field}", exclusions)
        return pod.every(bodies)

    def _body(self, container: Place, field: str, exclusions: Exclusions) -> Expr:
        lifted = [
            conjunction(has_image(container, each), each.lifts(self.bad(container)))
            for each in exclusions
            if each.images and each.covers(field)
        ]
        return disjunction(self.holds(container), *lifted)


def has_image(container: Place, exclusion: Exclusion) -> Expr:
    """Return whether a container has one of the images of an exclusion."""
    image = container.child("image").or_value("")
    if any(fits(image, each) == cel.TRUE for each in exclusion.images):
        return cel.TRUE
    return fits_any(image, exclusion.images)


def require_images(field: str, exclusions: Exclusions) -> None:
    """Raise NotConvertible for an exclusion that lifts the fault of one container, whichever."""
    if any(not each.images and each.covers(field) for each in exclusions):
        raise NotConvertible(
            "an exclusion without images lifts what one container lacks, and no more: name the "
            "images of containers, or '*'",
            "validate/podSecurity/exclude",
        )


def require_one(exclusions: Exclusions, *, images: bool) -> None:
    """Raise NotConvertible for several exclusions by value of a list with several bad values, of
    which each lifts as many faults as fit it, whichever they are."""
    named = [each for each in exclusions if each.values and bool(each.images) is images]
    if len(named) > 1:
        raise NotConvertible(
            "several exclusions of one control by values of a list count its faults: make them one",
            "validate/podSecurity/exclude",
        )
