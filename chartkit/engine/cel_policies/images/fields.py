"""The fields of an object that name images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.tracing.calls import RepeatHost, Unrepeatable
from chartkit.engine.cel.tracing.datum import UNKNOWN, Datum, Extent, elements, listed, unknown
from chartkit.engine.cel.tracing.junctions import pointers
from chartkit.engine.cel.tracing.planner import traced
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.fields import Roots
from chartkit.engine.cel_policies.images.host import Fits, ImageHost


class RepeatImageHost(RepeatHost):
    """A host that knows the signatures and attestations which an `ImageHost` has verified."""

    def __init__(self, host: ImageHost) -> None:
        super().__init__(host)
        self._images = host

    def verify_image(
        self, image: str, attestation: str | None, attestors: Sequence[Value], /
    ) -> int:
        self.asked = True
        count = self._images.counted(image, attestation, attestors)
        if count is None:
            raise Unrepeatable
        return count

    def image_payload(self, image: str, attestation: str, /) -> Value:
        self.asked = True
        if not self._images.has_payload(image, attestation):
            raise Unrepeatable
        return self._images.image_payload(image, attestation)


class ImageFields:
    """The fields of the images that a policy is about, each list traced when it is asked for."""

    def __init__(
        self,
        extractors: Mapping[str, Program],
        fits: Fits,
        scope: Mapping[str, Value],
        variables: Mapping[str, Program],
        host: ImageHost,
    ) -> None:
        """extractors: the programs that find images, by name; fits: whether the policy is about
        one."""
        self._extractors = extractors
        self._fits = fits
        self._host = RepeatImageHost(host)
        self._roots = Roots(scope, variables, self._host)

    def variable(self, images: Value) -> Datum:
        """Return the value of `images` with its provenance."""
        return Datum(images, members=self._found())

    def _found(self) -> dict[str, Datum]:
        return {name: self._listed(program) for name, program in self._extractors.items()}

    def _listed(self, program: Program) -> Datum:
        try:
            found = traced(program, self._roots, self._host)
        except (CelError, RecursionError):
            return Datum(UNKNOWN)
        if not isinstance(found.value, list):
            return unknown(found)
        members = [each for each in elements(found) if self._fits(str(each.value))]
        return listed(members, Extent((), found))

    def of(self, image: str) -> tuple[str, ...]:
        """Return the JSON pointers of the fields that name an image."""
        listed = [each.members for each in self._found().values()]
        members = [one for each in listed if isinstance(each, list) for one in each]
        return pointers(tuple(one for one in members if one.value == image), self._roots.judged)
