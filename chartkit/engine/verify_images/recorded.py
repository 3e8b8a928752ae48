"""What an object's annotation records of its images (`pkg/engine/api/imageverifymetadata.go`)."""

from __future__ import annotations

import json
from typing import Final

from chartkit.errors import EvaluationError
from chartkit.model import Body, Json

_ANNOTATION: Final = "kyverno.io/verify-images-scoped"


def recorded_status(resource: Body, policy: str, rule: str, image: str) -> str:
    """`pass`, `skip`, `fail` or whatever is written there for an image; `fail` for nothing.

    policy: `namespace/name`, with an empty namespace for a ClusterPolicy. Raises EvaluationError
    for an annotation that is no record.
    """
    metadata = _object(resource.get("metadata"))
    text = _object(metadata.get("annotations")).get(_ANNOTATION)
    if not isinstance(text, str):
        return "fail"
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"failed to parse scoped image metadata: {error}") from error
    if not isinstance(record, dict) or record.get("version") != 1:
        return "fail"
    found: Json = record.get("policies")
    for key in (policy, rule, image):
        found = _object(found).get(key)
    return found if isinstance(found, str) else "fail"


def _object(value: Json) -> Body:
    return value if isinstance(value, dict) else {}
