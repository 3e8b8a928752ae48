"""What Pod Security Admission forbids, and what the policies do: recorded Pods and both answers.

`conformance/data/pod_security.jsonl` holds Pods written for this project, and for each check of Pod
Security Admission that forbids one the spans of minor versions (first and last) in which it does,
recorded from kubernetes/pod-security-admission as of July 2026, which knows checks up to version
1.37.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from chartkit.model import Body, Resource, Status
from tests.data import tables
from tests.policy_forms import compiled, judge, standard

_TABLES = tables(__file__)

CHECKS: Final = _TABLES["checks"]
"""The policy of each check of Pod Security Admission, by the check's id."""

GROUPS: Final = {"baseline": ("baseline",), "restricted": ("baseline", "restricted")}
"""The library's groups of each level."""

MINORS: Final = range(19, 38)
"""The minor versions of the standards that the library knows."""

_RECORDED: Final = Path(__file__).parent / "conformance" / "data" / "pod_security.jsonl"


@dataclass(frozen=True, slots=True)
class RecordedPod:
    """A Pod; forbidden: the spans of minor versions in which each check forbids it."""

    resource: Resource
    forbidden: Mapping[str, Sequence[tuple[int, int]]]

    def is_forbidden(self, check: str, minor: int) -> bool:
        """Whether a check forbids it at a version."""
        return any(first <= minor <= last for first, last in self.forbidden.get(check, ()))


@cache
def recorded() -> tuple[RecordedPod, ...]:
    """The Pods of the project."""
    rows: list[Body] = [json.loads(line) for line in _RECORDED.read_text("utf-8").splitlines()]
    return tuple(RecordedPod(Resource(row["pod"]), row["forbidden"]) for row in rows)


def forbidden(check: str, minor: int) -> frozenset[str]:
    """The names of the recorded Pods that a check forbids at a version."""
    return frozenset(p.resource.name for p in recorded() if p.is_forbidden(check, minor))


def refused(form: str, check: str, minor: int) -> frozenset[str]:
    """The names of the recorded Pods that the check's policy does not pass at a version."""
    bodies = standard(form, minor)[CHECKS[check]]
    return _refused(json.dumps([each.body for each in bodies]))


@lru_cache(maxsize=1024)
def _refused(bodies: str) -> frozenset[str]:
    found = json.loads(bodies)
    return not_passed([Resource(body) for body in found], [p.resource for p in recorded()])


def not_passed(policy: Iterable[Resource], pods: Iterable[Resource]) -> frozenset[str]:
    """The names of Pods of which some result of a policy is no pass."""
    ready = compiled(policy)
    return frozenset(
        pod.name
        for pod in pods
        if any(result.status is not Status.PASS for result in judge(ready, pod))
    )
