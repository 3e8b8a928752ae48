"""The images of an object: those of its pods, or those that a rule's `imageExtractors` find, and
their record in its annotations (`pkg/engine/api/imageverifymetadata.go`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from chartkit.engine.context.images import ImageExtractor, extract_images
from chartkit.errors import EvaluationError, Reraise
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json, kind_of, mapping_at, text_of

_KYVERNO: Final = "kyverno"


@dataclass(frozen=True, slots=True)
class Image:
    """An image of an object. reference: the whole of it, with the digest before the tag; path: the
    keys that lead to it; parts: what expressions see of it."""

    reference: str
    digest: str
    path: tuple[str, ...]
    parts: Body

    def at(self, digest: str) -> str:
        """The reference with a digest that was found; the image's own counts first."""
        if self.digest or not digest:
            return self.reference
        registry = self.parts.get("registry")
        path: str = self.parts["path"]
        return f"{registry}/{path}@{digest}" if registry else f"{path}@{digest}"


Extract = Callable[[Body], Mapping[str, Json]]
"""Finds an object's images, by what found them and their key, in the parts that expressions see;
raises EvaluationError where the object is not built as the policy says."""


def compile_extractors(body: Mapping[str, Json]) -> Extract:
    """Return a search for the images of objects of any kind.

    body: `imageExtractors`, by kind; kinds that it does not name have those of their pods.
    """
    by_kind = {kind: [_compile(one) for one in listed or ()] for kind, listed in body.items()}

    def extract(resource: Body) -> Mapping[str, Json]:
        extractors = by_kind.get(kind_of(resource))
        if extractors is None:
            return extract_images(resource)
        if not extractors:
            raise EvaluationError(f"no extractors found for {resource['kind']}")
        found: dict[str, Json] = {}
        for extractor in extractors:
            if images := extractor.find(resource):
                found[extractor.name] = images
        return found

    return extract


def images_in(found: Mapping[str, Json]) -> Sequence[Image]:
    """The images that were found, in order."""
    return [
        Image(
            member["reference"],
            member.get("digest", ""),
            tuple(member["jsonPointer"].split("/")[1:]),
            {key: value for key, value in member.items() if key != "jsonPointer"},
        )
        for members in found.values()
        for member in members.values()
    ]


def pull_secrets(resource: Body, image: Image) -> tuple[str, ...]:
    """The Secrets with which an image is pulled, as `namespace/name`: those that the objects on
    the way to it name."""
    namespace = mapping_at(resource, "metadata").get("namespace")
    found: list[str] = []
    value: Json = resource
    for step in image.path:
        if isinstance(value, list):
            value = value[int(step)]
        elif isinstance(value, dict):
            found += _names(value.get("imagePullSecrets"))
            value = value.get(step)
    return tuple(f"{namespace or _KYVERNO}/{name}" for name in found)


def _names(listed: Json) -> list[str]:
    members = listed if isinstance(listed, list) else []
    named = (member.get("name") for member in members if isinstance(member, dict))
    return [name for name in named if isinstance(name, str)]


def _compile(body: Body) -> ImageExtractor:
    fields = tuple(step.strip(" ") for step in _text(body, "path").split("/") if step.strip(" "))
    value = _text(body, "value")
    if not value:
        value = fields[-1] if fields else ""
        fields = fields[:-1]
    name = _text(body, "name") or "custom"
    return ImageExtractor(fields, name, _text(body, "key"), value, _text(body, "jmesPath"))


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    return text_of(value)


_ANNOTATION: Final = "kyverno.io/verify-images"
_SCOPED: Final = "kyverno.io/verify-images-scoped"
_VERSION: Final = 1


def recorded_status(resource: Body, policy: str, rule: str, image: str) -> str:
    """`pass`, `skip`, `fail` or whatever is written there for an image; `fail` for nothing.

    policy: `namespace/name`, with an empty namespace for a ClusterPolicy. Raises EvaluationError
    for an annotation that is not a record.
    """
    text = _annotations(resource).get(_SCOPED)
    if not isinstance(text, str):
        return "fail"
    with Reraise("failed to parse scoped image metadata: ", (ValueError, RecursionError)):
        record = json.loads(text)
    found: Json = _policies(record)
    for key in (policy, rule, image):
        found = mapping_at(found).get(key)
    return found if isinstance(found, str) else "fail"


def with_record(resource: Body, policy: str, rule: str, images: Mapping[str, str]) -> Body:
    """The object with what a rule found out of its images; what other rules wrote stays.

    images: `pass`, `skip` or `fail` by the whole reference.
    """
    # An enumeration's text is not a string of JSON's.
    written = {image: str(status) for image, status in images.items()}
    annotations = _annotations(resource)
    policies = _policies(_read(annotations.get(_SCOPED)))
    rules = {**mapping_at(policies.get(policy)), rule: written}
    scoped = go_json({**policies, policy: rules})
    made = {
        **annotations,
        _ANNOTATION: go_json({**mapping_at(_read(annotations.get(_ANNOTATION))), **written}),
        _SCOPED: f'{{"version":{_VERSION},"policies":{scoped}}}',
    }
    metadata = {**mapping_at(resource, "metadata"), "annotations": made}
    return {**resource, "metadata": metadata}


def _annotations(resource: Body) -> Body:
    return mapping_at(mapping_at(resource, "metadata").get("annotations"))


def _read(text: Json) -> Json:
    """A record that cannot be read is written anew."""
    try:
        return json.loads(text, parse_constant=_refuse) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _policies(record: Json) -> Body:
    read = mapping_at(record)
    return mapping_at(read, "policies") if read.get("version") == _VERSION else {}
