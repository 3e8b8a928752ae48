"""The record of an object's images in its annotations (`pkg/engine/api/imageverifymetadata.go`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NoReturn

from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json

_ANNOTATION: Final = "kyverno.io/verify-images"
_SCOPED: Final = "kyverno.io/verify-images-scoped"
_VERSION: Final = 1


def recorded_status(resource: Body, policy: str, rule: str, image: str) -> str:
    """`pass`, `skip`, `fail` or whatever is written there for an image; `fail` for nothing.

    policy: `namespace/name`, with an empty namespace for a ClusterPolicy. Raises EvaluationError
    for an annotation that is no record.
    """
    text = _annotations(resource).get(_SCOPED)
    if not isinstance(text, str):
        return "fail"
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"failed to parse scoped image metadata: {error}") from error
    found: Json = _policies(record)
    for key in (policy, rule, image):
        found = _object(found).get(key)
    return found if isinstance(found, str) else "fail"


def with_record(resource: Body, policy: str, rule: str, images: Mapping[str, str]) -> Body:
    """The object with what a rule found out of its images; what other rules wrote stays.

    images: `pass`, `skip` or `fail` by the whole reference.
    """
    # An enumeration's text is no text of JSON's.
    written = {image: str(status) for image, status in images.items()}
    annotations = _annotations(resource)
    policies = _policies(_read(annotations.get(_SCOPED)))
    rules = {**_object(policies.get(policy)), rule: written}
    scoped = go_json({**policies, policy: rules})
    made = {
        **annotations,
        _ANNOTATION: go_json({**_object(_read(annotations.get(_ANNOTATION))), **written}),
        _SCOPED: f'{{"version":{_VERSION},"policies":{scoped}}}',
    }
    metadata = {**_object(resource.get("metadata")), "annotations": made}
    return {**resource, "metadata": metadata}


def _annotations(resource: Body) -> Body:
    return _object(_object(resource.get("metadata")).get("annotations"))


def _read(text: Json) -> Json:
    """A record that cannot be read is written anew."""
    try:
        return json.loads(text, parse_constant=_refuse) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _policies(record: Json) -> Body:
    read = _object(record)
    return _object(read.get("policies")) if read.get("version") == _VERSION else {}


def _object(value: Json) -> Body:
    return value if isinstance(value, dict) else {}
