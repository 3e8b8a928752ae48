"""The images of an object, and their parts as expressions see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.kubernetes.kinds import POD_SPECS
from chartkit.errors import EvaluationError, Reraise
from chartkit.go.fmt import go_sprint
from chartkit.model import Body, Json, kind_of

_POD_SPECS = {
    "Pod": ("spec",),
    **{kind: tuple(path.split(".")) for kind, path in POD_SPECS.items()},
}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def extract_images(resource: Body) -> dict[str, Json]:
    """Return the images of a workload: `{containers: {name: {registry, path, name, tag, …}}}`.

    Empty for kinds that have no pods. Raises `EvaluationError` for a container without a name and
    for an image that is not a reference.
    """
    steps = _POD_SPECS.get(kind_of(resource))
    if steps is None:
        return {}
    by_kind = {
        kind: ImageExtractor((*steps, kind, "*"), kind, "name", "image").find(resource)
        for kind in _CONTAINERS
    }
    return {kind: images for kind, images in by_kind.items() if images}


class ImageExtractor(NamedTuple):
    """Finds images. fields: the way to the objects that have them, `*` for any member; name: its
    own; key: the field that names an image, empty for its place; value: the field that is one;
    jmespath: what makes a reference of that, if anything."""

    fields: tuple[str, ...]
    name: str
    key: str
    value: str
    jmespath: str = ""

    def find(self, resource: Body) -> dict[str, Json]:
        """Return the images of an object by their key or place; raise `EvaluationError`."""
        return dict(self._walk(resource, (), self.fields))

    def _walk(
        self, value: Json, path: tuple[str, ...], left: tuple[str, ...]
    ) -> Iterator[tuple[str, Json]]:
        if value is None:
            return
        if left and left[0] == "*":
            for member_path, member in members_at(value, path):
                yield from self._walk(member, member_path, left[1:])
            return
        if not isinstance(value, dict):
            raise EvaluationError("invalid image config")
        if left:
            yield from self._walk(value.get(left[0]), (*path, left[0]), left[1:])
            return
        pointer = "/" + "/".join((*path, self.value))
        key: Json = pointer
        if self.key:
            key = value.get(self.key)
            if not isinstance(key, str):
                raise EvaluationError("invalid key")
        text = value.get(self.value)
        if isinstance(text, str) and text.strip():
            yield key, image_parts(self._apply(text) if self.jmespath else text, pointer)

    def _apply(self, text: str) -> str:
        with Reraise(f"invalid jmespath {self.jmespath}: ", JMESPathError):
            expression = compile_expression(self.jmespath)
        with Reraise(f"failed to apply jmespath {self.jmespath}: ", JMESPathError):
            image = expression.search(text)
        if not isinstance(image, str):
            raise EvaluationError(
                f"jmespath {self.jmespath} must produce a string, but produced {go_sprint(image)}"
            )
        return image


def members_at(value: Json, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """The objects that `*` in a path leads to, with their places; members that hold no image are
    passed over, as since Kyverno 1.19.1. Raises `EvaluationError` for a value without members."""
    if isinstance(value, list):
        for index, member in enumerate(value):
            if isinstance(member, dict):
                yield (*steps, str(index)), member
            elif isinstance(member, list):
                yield from members_at(member, (*steps, str(index)))
    elif isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, dict | list):
                yield (*steps, key), member
    else:
        raise EvaluationError("invalid image config")


def image_parts(text: str, pointer: str) -> dict[str, str]:
    """An image in its parts, as expressions see it; raises `EvaluationError` for no reference.

    pointer: its place in the object, as a JSON pointer.
    """
    from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image

    try:
        image = parse_image(text)
    except ImageReferenceError as error:
        raise EvaluationError(f"invalid image '{text}' ({error})") from error
    parts = {
        "registry": image.registry,
        "name": image.name,
        "path": image.path,
        "tag": image.tag,
        "digest": image.digest,
        "reference": str(image),
        "referenceWithTag": f"{image.registry}/{image.path}:{image.tag}",
        "jsonPointer": pointer,
    }
    return {key: value for key, value in parts.items() if value}


def with_images(body: Body, images: Mapping[tuple[str, ...], str]) -> Body:
    """An object with other images at the keys and indexes that lead to them."""
    for path, image in images.items():
        body = _with(body, path, image)
    return body


def _with(value: Json, path: Sequence[str], image: str) -> Json:
    if not path:
        return image
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        index = int(step)
        return [*value[:index], _with(value[index], rest, image), *value[index + 1 :]]
    return {**value, step: _with(value[step], rest, image)}
