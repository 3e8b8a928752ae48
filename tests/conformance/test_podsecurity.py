"""Kubernetes' own Pods of the Pod Security Standards."""

from collections.abc import Iterator

from chartkit.documents.reader import read_file, resources
from chartkit.engine.cluster_policy.podsecurity.checks import choose, find
from chartkit.engine.cluster_policy.podsecurity.pod import read_pod
from chartkit.model import Resource
from tests.shared import shared

STRICTER = {
    ("v1.19", "capabilities_restricted"),
    *((version, "restrictedVolumes") for version in ("v1.19", "v1.24", "v1.25", "v1.29")),
    *((version, "restrictedVolumes") for version in ("v1.33", "v1.35")),
    ("v1.35", "procMount"),
}
"""What Kyverno forbids and Kubernetes admits: a check before its time, a volume that names no type
(the API server makes it an emptyDir), /proc in user namespaces."""


def _pods(verdict: str) -> Iterator[tuple[str, Resource, list[str]]]:
    """Kubernetes' own pods: version, pod, the checks that forbid it."""
    for path in sorted(shared("conformance/psa").glob(f"v*/*-{verdict}.yaml")):
        version = path.parent.name
        chosen = choose(path.name.partition("-")[0], version)
        for pod in resources(read_file(path)):
            yield version, pod, [one.check for one in find(chosen, read_pod(pod))]


def test_pods_that_kubernetes_admits() -> None:
    found = {(version, check) for version, _, checks in _pods("pass") for check in checks}
    assert found == STRICTER


def test_pods_that_kubernetes_rejects() -> None:
    count = 0
    for _, pod, checks in _pods("fail"):
        broken = pod.name.rstrip("0123456789").removesuffix("_restricted").removesuffix("_baseline")
        assert any(check.lower().startswith(broken) for check in checks), pod.name
        count += 1
    assert count
