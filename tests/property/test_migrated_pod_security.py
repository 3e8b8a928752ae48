"""Rules of Pod Security Standards, their exclusions too, refuse the same Pods once they are CEL."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.migrate.convert import convert
from chartkit.engine import evaluate
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.podsecurity.checks import CONTROLS
from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.request import Request
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, Status
from tests.draws import draws
from tests.objects import api_object

_REFUSED = (Status.FAIL, Status.ERROR)
_IMAGES = st.sampled_from(["a:1", "b:1", "c:2"])
_TYPES = st.sampled_from(["RuntimeDefault", "Localhost", "Unconfined"])
_CAPABILITIES = st.lists(st.sampled_from(["ALL", "CHOWN", "NET_ADMIN", "NET_BIND_SERVICE"]))


def _any_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Body]:
    return st.fixed_dictionaries({}, optional=fields)


_BOTH = {
    "runAsNonRoot": st.booleans(),
    "runAsUser": st.sampled_from([0, 1]),
    "seccompProfile": st.fixed_dictionaries({"type": _TYPES}),
    "appArmorProfile": st.fixed_dictionaries({"type": _TYPES}),
    "seLinuxOptions": _any_of({"type": st.sampled_from(["spc_t", "container_t"])}),
    "windowsOptions": _any_of({"hostProcess": st.booleans()}),
}
_CONTAINER = _BOTH | {
    "privileged": st.booleans(),
    "allowPrivilegeEscalation": st.booleans(),
    "procMount": st.sampled_from(["Default", "Unmasked"]),
    "capabilities": _any_of({"add": _CAPABILITIES, "drop": _CAPABILITIES}),
}
_PORTS = st.lists(_any_of({"hostPort": st.sampled_from([0, 80, 443])}), max_size=3)
_GOOD: Body = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@st.composite
def _containers(draw: st.DrawFn) -> Body:
    """Draw a container that breaks nothing, or a thing or two."""
    security = dict(_GOOD)
    for field in draw(st.lists(st.sampled_from(sorted(_CONTAINER)), max_size=2)):
        if field in _GOOD and draw(st.booleans()):
            security.pop(field, None)
        else:
            security[field] = draw(_CONTAINER[field])
    container: Body = {"image": draw(_IMAGES)}
    if draw(st.integers(0, 5)):
        container["securityContext"] = security
    if not draw(st.integers(0, 3)):
        container["ports"] = draw(_PORTS)
    return container


_CONTAINERS = st.lists(_containers(), max_size=2)
_VOLUMES = st.lists(
    st.one_of(
        st.builds(lambda path: {"hostPath": {"path": path}}, st.sampled_from(["/a", "/b"])),
        st.sampled_from([{"emptyDir": {}}, {"nfs": {"server": "s", "path": "/"}}]),
    ),
    max_size=3,
)
_SPECS = st.fixed_dictionaries(
    {"containers": _CONTAINERS},
    optional={
        "initContainers": _CONTAINERS,
        "securityContext": _any_of(
            _BOTH
            | {
                "sysctls": st.lists(
                    st.fixed_dictionaries(
                        {"name": st.sampled_from(["kernel.msgmax", "net.core.somaxconn"])}
                    ),
                    max_size=2,
                )
            }
        ),
        "hostPID": st.booleans(),
        "hostNetwork": st.booleans(),
        "volumes": _VOLUMES,
        "os": st.fixed_dictionaries({"name": st.sampled_from(["windows", "linux"])}),
    },
)
_SECURITY = "securityContext."
_FIELDS = {
    "Capabilities": (f"{_SECURITY}capabilities.add", ("NET_*", "CHOWN")),
    "Seccomp": (f"{_SECURITY}seccompProfile.type", ("Unconfined",)),
    "Privileged Containers": (f"{_SECURITY}privileged", ("true",)),
    "Host Ports": ("ports[*].hostPort", ("80", "44?")),
    "/proc Mount Type": (f"{_SECURITY}procMount", ("Unmasked",)),
    "SELinux": (f"{_SECURITY}seLinuxOptions.type", ("spc_t",)),
    "Privilege Escalation": (f"{_SECURITY}allowPrivilegeEscalation", ("true", "nil")),
    "Running as Non-root": (f"{_SECURITY}runAsNonRoot", ("false",)),
    "Running as Non-root user": (f"{_SECURITY}runAsUser", ("0",)),
}
_OF_PODS = {
    "Host Namespaces": ("hostPID", ("true",)),
    "HostPath Volumes": ("volumes[*].hostPath", ("/a",)),
    "Sysctls": (f"{_SECURITY}sysctls[*].name", ("kernel.*",)),
    "Volume Types": ("volumes[*].nfs", ("*",)),
}


@st.composite
def _exclusions(draw: st.DrawFn) -> Body:
    control = draw(st.sampled_from(sorted(CONTROLS)))
    found: Body = {"controlName": control}
    if control not in _OF_PODS and draw(st.booleans()):
        found["images"] = draw(st.lists(st.sampled_from(["a:*", "b:1", "*"]), min_size=1))
    named = _FIELDS if "images" in found else _OF_PODS
    if control in named and draw(st.booleans()):
        field, values = named[control]
        lists = ["containers[*].", "initContainers[*]."] if "images" in found else [""]
        found["restrictedField"] = f"spec.{draw(st.sampled_from(lists))}{field}"
        found["values"] = draw(st.lists(st.sampled_from(values), min_size=1))
    return found


@given(
    _SPECS,
    st.sampled_from(["baseline", "restricted", "privileged"]),
    st.sampled_from(["v1.19", "v1.22", "v1.24", "v1.25", "v1.29", "latest"]),
    st.lists(_exclusions(), max_size=3),
)
@draws(300)
def test_exclusions_of_pod_security_lift_the_same(
    spec: Body, level: str, version: str, exclusions: list[Body]
) -> None:
    for number, container in enumerate(
        each for key, value in sorted(spec.items()) if key.endswith("ontainers") for each in value
    ):
        container["name"] = f"c{number}"
    for number, volume in enumerate(spec.get("volumes", ())):
        volume["name"] = f"v{number}"
    legacy = _policy({"level": level, "version": version, "exclude": exclusions})
    try:
        original: RunnablePolicy = compile_policy(legacy)
    except CompileError:
        return
    conversion = convert(legacy)
    if not conversion.complete:
        return
    new = [compile_cel_policy(Resource(each)) for each in conversion.documents]
    pod = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    before, after = (
        any(each.status in _REFUSED for each in evaluate(policies, Request(pod)))
        for policies in ([original], new)
    )
    assert before == after, json.dumps([legacy.body["spec"], spec])


def _policy(pod_security: Body) -> Resource:
    rule: Body = {
        "name": "pss",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"podSecurity": pod_security},
    }
    return Resource(api_object("kyverno.io/v1", "ClusterPolicy", "pss", spec={"rules": [rule]}))
