"""The variable `images`: the images of a Pod's containers, and their parts.

Kyverno's own rules are not those of CEL's `image()`: they add no `library/`, call Docker's registry
`docker.io`, and keep a tag next to a digest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import IMAGE_REFERENCE, TEXT, Place
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath.terms import Generator, Stream, Term, Value
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel

LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_REGISTRY: Final = "^([^/]*[.:A-Z][^/]*|localhost)/"
_PATH: Final = "^(?:(?:[^/]*[.:A-Z][^/]*|localhost)/)?([^:@]+)"
_DIGEST: Final = "@(.+)$"
_TAG: Final = r"^[^@]*:([^/:@]+)(?:@|$)"


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a list of containers, by the names of these; containers: the list."""

    containers: Place

    def of_container(self, name: Expr, element: Term | None) -> Term:
        """Return the image of a container that a loop is at; raises `NotConvertible`."""
        at = element.place if isinstance(element, Value) else self.containers
        if at.path == f"{self.containers.path}[]" and at.child("name").value == name:
            return Value(_reference(at))
        raise NotConvertible("the image of a container that is not the element of a loop")

    def all(self, variable: str) -> Stream:
        """Return the images as a stream; variable: of the loop over containers."""
        image = _reference(self.containers.element(variable))
        some = cel.compare(">", cel.method(self.containers.or_value([]), "size"), 0)
        loop = Generator(variable, self.containers)
        return Stream((loop,), image, conjunction(self.containers.is_present(), some))


def _reference(container: Place) -> Place:
    image = container.child("image")
    given = conjunction(image.is_present(), cel.not_equal(image.settled().value, ""))
    return replace(image.settled(), type=IMAGE_REFERENCE, given=given)


def part_of(reference: Place, part: str) -> Place:
    """Return a part of an image reference, which may be absent; raises `NotConvertible`."""
    read = _PARTS.get(part)
    if read is None:
        raise NotConvertible(f"the part {part} of an image")
    value, given = read(reference.settled().value)
    return Place(value, (), TEXT, given=conjunction(reference.given, given))


def _registry(image: Expr) -> tuple[Expr, Expr]:
    return cel.or_value(cel.call("regex.extract", image, _REGISTRY), "docker.io"), cel.TRUE


def _path(image: Expr) -> tuple[Expr, Expr]:
    return cel.method(cel.call("regex.extract", image, _PATH), "value"), cel.TRUE


def _tag(image: Expr) -> tuple[Expr, Expr]:
    written = cel.call("regex.extract", image, _TAG)
    has_digest = cel.method(image, "contains", "@")
    # Next to a digest, there is no tag that is not written.
    tag = cel.conditional(has_digest, cel.method(written, "value"), cel.or_value(written, "latest"))
    return tag, cel.any_of([cel.negate(has_digest), cel.method(image, "matches", _TAG)])


def _digest(image: Expr) -> tuple[Expr, Expr]:
    digest = cel.method(cel.call("regex.extract", image, _DIGEST), "value")
    return digest, cel.method(image, "contains", "@")


_PARTS: Final[dict[str, Callable[[Expr], tuple[Expr, Expr]]]] = {
    "registry": _registry,
    "path": _path,
    "tag": _tag,
    "digest": _digest,
}
"""By name of a part: its text, and the condition under which an image has it."""
