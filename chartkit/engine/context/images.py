"""The variable `images`: the images of a workload's containers, in their parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chartkit.engine.kubernetes.kinds import POD_SPECS
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, kind_of

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_POD_SPECS = {
    "Pod": ("spec",),
    **{kind: tuple(path.split(".")) for kind, path in POD_SPECS.items()},
}


def has_images(resource: Body) -> bool:
    """Return whether objects of this kind have containers at all."""
    return kind_of(resource) in _POD_SPECS


def extract_images(resource: Body) -> dict[str, Json]:
    """The images of a workload: `{containers: {name: {registry, path, name, tag, …}}}`.

    Empty for kinds that have no pods. Raises `EvaluationError` for a container without a name and
    for an image that is no reference.
    """
    steps = _POD_SPECS.get(kind_of(resource))
    if steps is None:
        return {}
    found = ((kind, _images_of(resource, steps, kind)) for kind in _CONTAINERS)
    return {kind: images for kind, images in found if images}


def _images_of(resource: Body, steps: Sequence[str], kind: str) -> dict[str, Json]:
    value: Json = resource
    for step in (*steps, kind):
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise EvaluationError("invalid image config")
        value = value.get(step)
    if value is None:
        return {}
    found = {}
    for place, container in members_at(value, (*steps, kind)):
        found.update(_image_of(container, f"/{'/'.join(place)}/image"))
    return found


def members_at(value: Json, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield the objects that `*` in a path leads to, with their places; members that hold no image
    are passed over, as since Kyverno 1.19.1. Raise `EvaluationError` for a value without members.
    """
    if isinstance(value, list):
        for index, member in enumerate(value):
            if isinstance(member, dict):
                yield (*place, str(index)), member
            elif isinstance(member, list):
                yield from members_at(member, (*place, str(index)))
    elif isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, dict | list):
                yield (*place, key), member
    else:
        raise EvaluationError("invalid image config")


def _image_of(container: Json, pointer: str) -> dict[str, Json]:
    if not isinstance(container, dict):
        raise EvaluationError("invalid image config")
    name = container.get("name")
    if not isinstance(name, str):
        raise EvaluationError("invalid key")
    text = container.get("image")
    if not isinstance(text, str) or not text.strip():
        return {}
    return {name: image_parts(text, pointer)}


def image_parts(text: str, pointer: str) -> dict[str, str]:
    """An image in its parts, as expressions see it; raises `EvaluationError` for no reference.

    pointer: its place in the object, as a JSON pointer.
    """
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
