"""Each check of the Pod Security Standards: what it lets pass, what it finds and where."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.podsecurity.checks import (
    CHECKS,
    CONTROL_OF,
    CONTROLS,
    choose,
    find,
)
from chartkit.engine.cluster_policy.podsecurity.pod import Violation, read_pod
from chartkit.model import Body, Resource
from tests.data import from_table

SECURE: Body = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(security: Body | None = None, **spec: Any) -> Resource:
    """A pod whose one container has a security context; other fields of the spec."""
    container: Body = {"name": "c", "image": "a"}
    if security is not None:
        container["securityContext"] = security
    metadata = {"name": "p", "annotations": spec.pop("annotations", {})}
    body = {"metadata": metadata, "spec": {"containers": [container], **spec}}
    return Resource({"apiVersion": "v1", "kind": "Pod", **body})


def found(
    resource: Resource, level: str = "restricted", version: str = "latest"
) -> list[Violation]:
    return find(choose(level, version), read_pod(resource))


def texts(resource: Resource, level: str = "restricted", version: str = "latest") -> dict[str, Any]:
    """What is found: check to the texts of its field errors."""
    return {
        one.check: None if one.errors is None else [str(error) for error in one.errors]
        for one in found(resource, level, version)
    }


def test_a_secure_pod_passes_every_level_and_version() -> None:
    for level in ("privileged", "baseline", "restricted"):
        for version in ("latest", "", *(f"v1.{minor}" for minor in range(36))):
            assert found(pod(SECURE), level, version) == []


def test_a_silent_pod_breaks_what_restricted_asks_for() -> None:
    place = "spec.containers[0].securityContext"
    assert texts(pod()) == {
        "allowPrivilegeEscalation": [f"{place}.allowPrivilegeEscalation: Required value"],
        "capabilities_restricted": [f"{place}.capabilities.drop: Required value"],
        "runAsNonRoot": [f"{place}.runAsNonRoot: Required value"],
        "seccompProfile_restricted": [f"{place}.seccompProfile.type: Required value"],
    }
    assert found(pod(), "baseline") == []
    assert [one.check for one in found(pod(), "privileged")] == list(texts(pod()))


FORBIDDEN = "is forbidden, forbidden values found:"


@from_table("security", "check", "error")
def test_fields_of_a_container(security: Body, check: str, error: str) -> None:
    assert texts(pod({**SECURE, **security}))[check] == [error]


@from_table("spec", "check", "error")
def test_fields_of_a_pod(spec: Body, check: str, error: str) -> None:
    assert texts(pod(SECURE, **spec))[check] == [error]


def test_a_probe_that_names_a_host_has_no_field_errors() -> None:
    probe = {"name": "c", "livenessProbe": {"httpGet": {"host": "h", "port": 80}}}
    (one,) = found(pod(containers=[{**probe, "securityContext": SECURE}]))
    assert (one.check, one.errors) == ("hostProbesAndHostLifecycle", None)
    assert one.detail == 'container "c" uses probe or lifecycle host "h"'


def test_versions_change_what_is_allowed() -> None:
    tcp = pod(SECURE, securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})
    assert "sysctls" in texts(tcp, version="v1.31")
    assert texts(tcp, version="v1.32") == {}
    engine = pod({**SECURE, "seLinuxOptions": {"type": "container_engine_t"}})
    assert "seLinuxOptions" in texts(engine, version="v1.30")
    assert texts(engine, version="v1.31") == {}
    windows = pod({"runAsNonRoot": True}, os={"name": "windows"})
    assert "seccompProfile_restricted" in texts(windows, version="v1.24")
    assert texts(windows, version="v1.25") == {}


def test_a_check_younger_than_the_version_is_run_in_its_first_form() -> None:
    assert "capabilities_restricted" in texts(pod(), version="v1.19")
    assert "runAsUser" in texts(pod({**SECURE, "runAsUser": 0}), version="v1.19")


def test_seccomp_annotations_of_old() -> None:
    key = "container.seccomp.security.alpha.kubernetes.io/c"
    old = pod(SECURE, annotations={key: "unconfined"})
    expected = [f"metadata.annotations[{key}] {FORBIDDEN} unconfined"]
    assert texts(old, version="v1.18") == {"seccompProfile_baseline": expected}
    assert texts(old, version="v1.19") == {}


@pytest.mark.parametrize("version", ["1.24", "v1", "v1.x", "v2.0", "v1.01", "v1.2 "])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(ValueError, match=r'must be "latest" or "v1\.x"'):
        choose("baseline", version)


def test_every_check_but_one_belongs_to_a_control() -> None:
    ids = [check.id for check in CHECKS]
    assert ids == sorted(set(ids), key=str.encode)
    assert set(ids) - CONTROL_OF.keys() == {"hostProbesAndHostLifecycle"}
    assert {check for checks in CONTROLS.values() for check in checks} <= set(ids)
    for check in CHECKS:
        minors = [since for since, _ in check.forms]
        assert minors == sorted(set(minors))
