"""Random Pods that an API server takes: the library's forms agree on every one of them, and with
the podSecurity rules of Kyverno, which hold the same standards."""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cluster_policy.podsecurity.checks import choose, find
from chartkit.engine.cluster_policy.podsecurity.pod import read_pod
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import Body, Resource, Status
from tests.draws import draws
from tests.pod_security import CHECKS
from tests.policy_forms import ADMISSION, CLUSTER, FORMS, VALIDATING, compiled, judge, standard

VERSIONS = (24, 34, 37)


def _any_of(fields: Body) -> st.SearchStrategy[Body]:
    return st.fixed_dictionaries({}, optional=fields)


_PROFILE = st.fixed_dictionaries(
    {"type": st.sampled_from(["RuntimeDefault", "Localhost", "Unconfined"])}
)
_SELINUX = _any_of(
    {
        "type": st.sampled_from(["", "container_t", "container_engine_t", "spc_t"]),
        "user": st.sampled_from(["", "u"]),
        "role": st.sampled_from(["", "r"]),
        "level": st.just("s0"),
    }
)
_BOTH = {
    "runAsNonRoot": st.booleans(),
    "runAsUser": st.sampled_from([0, 1, 1000]),
    "seccompProfile": _PROFILE,
    "appArmorProfile": _PROFILE,
    "seLinuxOptions": _SELINUX,
    "windowsOptions": _any_of({"hostProcess": st.booleans()}),
}
_CAPABILITIES = st.lists(
    st.sampled_from(["ALL", "CHOWN", "NET_ADMIN", "NET_BIND_SERVICE"]), max_size=3
)
_SECURITY = _any_of(
    _BOTH
    | {
        "privileged": st.booleans(),
        "allowPrivilegeEscalation": st.booleans(),
        "procMount": st.sampled_from(["Default", "Unmasked"]),
        "capabilities": _any_of({"add": _CAPABILITIES, "drop": _CAPABILITIES}),
    }
)
_TO = _any_of({"host": st.sampled_from(["", "example.com"])})
_HANDLER = st.one_of(
    st.fixed_dictionaries({"httpGet": _TO}),
    st.fixed_dictionaries({"tcpSocket": _TO}),
    st.just({"exec": {"command": ["true"]}}),
)
_PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.just(80)}, optional={"hostPort": st.sampled_from([0, 80])}
    ),
    max_size=2,
)
_CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b"]), "image": st.just("registry.example/app:1")},
    optional={
        "securityContext": _SECURITY,
        "ports": _PORTS,
        "livenessProbe": _HANDLER,
        "startupProbe": _HANDLER,
        "lifecycle": _any_of({"preStop": _HANDLER, "postStart": _HANDLER}),
    },
)
_KINDS_OF_VOLUMES = ("emptyDir", "configMap", "image", "hostPath", "nfs", "quantumDisk")
_VOLUMES = st.lists(
    st.sampled_from(_KINDS_OF_VOLUMES).map(lambda kind: {"name": "v", kind: {}}), max_size=3
)
_SYSCTLS = st.lists(
    st.sampled_from(
        ["kernel.shm_rmid_forced", "net.ipv4.tcp_rmem", "net.ipv4.tcp_fin_timeout", "kernel.msgmax"]
    ).map(lambda name: {"name": name, "value": "0"}),
    max_size=2,
)
_ANNOTATIONS = st.dictionaries(
    st.sampled_from(["container.apparmor.security.beta.kubernetes.io/a", "example.com/a"]),
    st.sampled_from(["", "runtime/default", "localhost/a", "unconfined"]),
    max_size=2,
)
_SPEC = st.fixed_dictionaries(
    {"containers": st.lists(_CONTAINER, min_size=1, max_size=2)},
    optional={
        "initContainers": st.lists(_CONTAINER, max_size=2),
        "ephemeralContainers": st.lists(_CONTAINER, max_size=1),
        "securityContext": _any_of(_BOTH | {"sysctls": _SYSCTLS}),
        "hostPID": st.booleans(),
        "hostIPC": st.booleans(),
        "hostNetwork": st.booleans(),
        "hostUsers": st.booleans(),
        "volumes": _VOLUMES,
        "os": st.sampled_from([{"name": "linux"}, {"name": "windows"}]),
    },
)
_POD = st.builds(
    lambda spec, annotations: Resource(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "annotations": annotations},
            "spec": spec,
        }
    ),
    _SPEC,
    _ANNOTATIONS,
)

_UNLIKE_KUBERNETES = {
    24: frozenset({"hostProbesAndHostLifecycle", "procMount_restricted"}),
    34: frozenset({"procMount_restricted"}),
    37: frozenset({"procMount", "procMount_restricted", "runAsNonRoot", "runAsUser", "sysctls"}),
}
"""Where Kyverno's podSecurity rules do not hold what Kubernetes' standard does at a version: checks
before their time, and none of what came with 1.35."""


def _failing(form: str, minor: int, pod: Resource) -> set[str]:
    """The policies that refuse a Pod; none may fail to evaluate."""
    refusing = set()
    for name, policies in _ready(form, minor).items():
        statuses = {each.status for each in judge(policies, pod)}
        assert Status.ERROR not in statuses, (form, name)
        if Status.FAIL in statuses:
            refusing.add(name)
    return refusing


@cache
def _ready(form: str, minor: int) -> Mapping[str, Sequence[RunnablePolicy]]:
    return {name: compiled(rendered) for name, rendered in standard(form, minor).items()}


@pytest.mark.slow
@given(_POD, st.sampled_from(VERSIONS))
@draws(100)
def test_forms_agree(pod: Resource, minor: int) -> None:
    before = copy.deepcopy(pod.body)
    expected = _failing(CLUSTER, minor, pod)
    for form in (VALIDATING, ADMISSION):
        assert _failing(form, minor, pod) == expected, form
    assert pod.body == before


@pytest.mark.parametrize("form", FORMS)
@given(pod=_POD, minor=st.sampled_from(VERSIONS))
@draws(50)
def test_agree_with_pod_security_rules(form: str, pod: Resource, minor: int) -> None:
    judged = set(CHECKS) - _UNLIKE_KUBERNETES[minor]
    found = {one.check for one in find(choose("restricted", f"v1.{minor}"), read_pod(pod))}
    expected = {CHECKS[check] for check in found & judged}
    assert _failing(form, minor, pod) & {CHECKS[check] for check in judged} == expected


@given(_POD, st.data())
@draws(50)
def test_controllers_are_judged_as_their_pods(pod: Resource, data: st.DataObject) -> None:
    kind, group, path = data.draw(st.sampled_from(_CONTROLLERS))
    template: Body = {"metadata": {"annotations": pod.body["metadata"]["annotations"]}}
    holder: Any = {**template, "spec": pod.body["spec"]}
    for step in reversed(path):
        holder = {step: holder}
    metadata = {"name": "c", "namespace": "default"}
    controller = Resource({"apiVersion": group, "kind": kind, "metadata": metadata, **holder})
    for form in FORMS:
        assert _failing(form, 34, controller) == _failing(form, 34, pod), form


_CONTROLLERS = (
    ("Deployment", "apps/v1", ("spec", "template")),
    ("StatefulSet", "apps/v1", ("spec", "template")),
    ("Job", "batch/v1", ("spec", "template")),
    ("CronJob", "batch/v1", ("spec", "jobTemplate", "spec", "template")),
)
