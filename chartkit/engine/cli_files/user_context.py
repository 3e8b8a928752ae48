"""Context files (`cli.kyverno.io`, kind Context): the objects and images that CEL policies may ask
for, as a user writes them down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body, Json

KIND: Final = "Context"
_ALWAYS: Final = dict.fromkeys(("image", "resolvedImage", "registry", "repository"), "")
"""The data of an image that are present even if the file does not mention them."""


@dataclass(frozen=True, slots=True)
class UserContext:
    """resources: objects of the cluster, as written; images: what a registry says of an image, by
    the reference that policies ask for."""

    resources: tuple[Body, ...] = ()
    images: Mapping[str, Body] = field(default_factory=dict)


NO_CONTEXT: Final = UserContext()


def read_context(document: Document) -> UserContext:
    """Reads a context file's document; raises `InputError` for what it may not hold."""
    body = document.body
    if not isinstance(body, dict) or body.get("kind") != KIND:
        hint = f"write apiVersion: cli.kyverno.io/v1alpha1 and kind: {KIND}"
        raise InputError(f"is no {KIND}", document.location, hint)
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise InputError("spec must be a mapping", document.locate("spec"))
    resources = tuple(_members(document, spec, "resources"))
    images: dict[str, Body] = {}
    for index, image in enumerate(_members(document, spec, "images")):
        name: Json = image.get("image")
        if not isinstance(name, str) or not name:
            raise InputError("has no image", document.locate("spec", "images", index))
        images[name] = {**_ALWAYS, **image}
    return UserContext(resources, images)


def _members(document: Document, spec: Body, key: str) -> Iterator[Body]:
    members = spec.get(key) or []
    if not isinstance(members, list):
        raise InputError(f"{key} must be a list", document.locate("spec", key))
    for index, member in enumerate(members):
        if not isinstance(member, dict):
            raise InputError("must be a mapping", document.locate("spec", key, index))
        yield member
