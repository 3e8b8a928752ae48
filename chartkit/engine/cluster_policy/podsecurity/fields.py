"""The fields of a workload that the findings of Pod Security checks are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.podsecurity.pod import FieldError, Finding
from chartkit.engine.jmespath.traced import Traced
from chartkit.engine.kubernetes.pod_templates import CRON_JOB, POD_SPECS
from chartkit.model import FieldPath

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins

_ANNOTATION: Final = "metadata.annotations["
_STEP: Final = re.compile(r"[^.\[\]]+")
_OF_THE_POD: Final = {
    "runAsNonRoot": "spec.securityContext.runAsNonRoot",
    "seccompProfile_restricted": "spec.securityContext.seccompProfile.type",
}
"""The field of the pod that speaks for all of its containers, by check."""


def fields_of(findings: Sequence[Finding], kind: str, origins: Origins) -> Iterator[FieldPath]:
    """Yield the fields, in the order of the findings; kind: that of the object judged."""
    for finding in findings:
        errors = finding.errors or ()
        if finding.check in _OF_THE_POD and sum(error.is_missing for error in errors) > 1:
            yield _path(_OF_THE_POD[finding.check], kind)
        for error in errors:
            yield from _of_error(error, kind, origins.judged)
        yield from (_path(place, kind) for place in finding.places)


def _of_error(error: FieldError, kind: str, judged: Traced) -> Iterator[FieldPath]:
    path = _path(error.path, kind)
    if path[-1] == "add" and isinstance(error.value, tuple):
        found = judged
        for step in path:
            found = found.member(step)
        members = found.value if isinstance(found.value, list) else []
        yield from ((*path, i) for i, name in enumerate(members) if name in error.value)
    yield path


@lru_cache(maxsize=1024)
def _path(place: str, kind: str) -> FieldPath:
    """Return the path in an object of a kind of a place in its Pod, `spec.containers[0].image`."""
    spec: tuple[str, ...] = tuple(POD_SPECS[kind].split(".")) if kind in POD_SPECS else ("spec",)
    if place.startswith(_ANNOTATION):
        # The annotations of a CronJob are those of its job template, as Kyverno has it.
        above = spec[:-3] if kind == CRON_JOB else spec[:-1]
        return (*above, "metadata", "annotations", place[len(_ANNOTATION) : -1])
    # A volume without a type that the checks know is named as one of the type "unknown".
    place = place.removesuffix(".unknown")
    steps = [int(step) if step.isdigit() else step for step in _STEP.findall(place)]
    return (*spec, *steps[1:])
