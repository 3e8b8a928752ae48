"""Controls that are lifted: for the pod or for images, for one field, for some values."""

from typing import Any

from chartkit.engine.cluster_policy.podsecurity.checks import (
    choose,
    compile_exclusion,
    find,
    lift_all,
)
from chartkit.engine.cluster_policy.podsecurity.pod import read_pod
from chartkit.model import Body, Resource
from tests.data import from_table

PRIVILEGED = {"securityContext": {"privileged": True}}
BASELINE = choose("baseline", "latest")


def left(spec: Body, *exclusions: Body, level: str = "baseline") -> dict[str, list[str]]:
    """What is left of the findings in a pod: check to the paths of its field errors."""
    chosen = choose(level, "latest")
    pod = read_pod(Resource({"apiVersion": "v1", "kind": "Pod", "spec": spec}))
    lifted = [compile_exclusion(one, chosen) for one in exclusions]
    findings = lift_all(lifted, find(chosen, pod), pod)
    return {one.check: [error.path for error in one.errors or ()] for one in findings}


def control(name: str, **fields: Any) -> Body:
    return {"controlName": name, **fields}


def container(name: str, image: str, **fields: Any) -> Body:
    return {"name": name, "image": image, **fields}


def test_a_control_is_lifted_for_containers_of_an_image() -> None:
    spec = {
        "containers": [container("a", "x:1", **PRIVILEGED), container("b", "y:1", **PRIVILEGED)]
    }
    place = "spec.containers[{}].securityContext.privileged".format
    assert left(spec) == {"privileged": [place(0), place(1)]}
    lift = control("Privileged Containers", images=["x:*"])
    assert left(spec, lift) == {"privileged": [place(1)]}
    assert left(spec, lift, control("Privileged Containers", images=["y*"])) == {}
    assert left(spec, control("Privileged Containers", images=["z"])) == left(spec)


def test_containers_are_told_apart_by_their_lists() -> None:
    spec = {
        "containers": [container("a", "x", **PRIVILEGED)],
        "initContainers": [container("a", "y", **PRIVILEGED)],
    }
    lift = control("Privileged Containers", images=["y"])
    assert left(spec, lift) == {"privileged": ["spec.containers[0].securityContext.privileged"]}


def test_a_control_of_the_pod_is_lifted_without_images() -> None:
    spec = {"containers": [], "hostPID": True, "hostNetwork": True}
    assert left(spec, control("Host Namespaces")) == {}
    lift = control("Host Namespaces", restrictedField="spec.hostPID", values=["true"])
    assert left(spec, lift) == {"hostNamespaces": ["spec.hostNetwork"]}


@from_table("values", "is_lifted")
def test_every_value_of_a_field_must_be_lifted(values: list[str], is_lifted: bool) -> None:
    added = {"securityContext": {"capabilities": {"add": ["NET_ADMIN", "SYS_TIME"]}}}
    field = "spec.containers[*].securityContext.capabilities.add"
    lift = control("Capabilities", images=["*"], restrictedField=field, values=values)
    assert (left({"containers": [container("a", "x", **added)]}, lift) == {}) is is_lifted


def test_the_last_error_takes_the_place_of_one_that_is_lifted() -> None:
    paths = [{"name": name, "hostPath": {"path": f"/{name}"}} for name in "abc"]
    spec = {"containers": [], "volumes": paths}
    lift = control(
        "HostPath Volumes", restrictedField="spec.volumes[*].hostPath", values=["/b", "/c"]
    )
    # An error is known by its field alone, so the first two go, whatever their values are.
    assert left(spec, lift) == {"hostPathVolumes": ["spec.volumes[1].hostPath"]}


def test_a_container_that_says_nothing_stands_for_all_without_images() -> None:
    spec = {"containers": [container("a", "x"), container("b", "y")]}
    lift = control("Running as Non-root")
    found = left(spec, lift, level="restricted")["runAsNonRoot"]
    assert found == ["spec.containers[1].securityContext.runAsNonRoot"]


def test_other_checks_and_other_images_stay() -> None:
    probe = {"livenessProbe": {"tcpSocket": {"host": "h", "port": 1}}}
    spec = {"containers": [container("a", "x", **PRIVILEGED, **probe)]}
    assert left(spec, control("Privileged Containers", images=["x"])) == {
        "hostProbesAndHostLifecycle": []
    }
    assert compile_exclusion(control("No Such Control"), BASELINE).checks == ()
