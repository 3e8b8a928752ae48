"""Random workloads and rules: only results come out, and what a rule converts to compiles."""

import copy
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.migrate.convert import convert
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.podsecurity.checks import (
    CONTROLS,
    choose,
    compile_exclusion,
    find,
    lift_all,
)
from chartkit.engine.cluster_policy.podsecurity.pod import read_pod
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, Status
from tests.draws import draws
from tests.property.legacy_rules import legacy_rules
from tools.fuzz_policies import Kyverno

_WRONG = st.none() | st.booleans() | st.integers(-1, 2**40) | st.floats(-2, 2) | st.text(max_size=3)
_NAMES = st.sampled_from(["a", "b1", "init"])
_TYPES = st.sampled_from(["", "RuntimeDefault", "Unconfined", "spc_t", "container_t"])
_CAPABILITIES = st.lists(st.sampled_from(["ALL", "CHOWN", "NET_ADMIN"]), max_size=3)


def _any_of(fields: Body) -> st.SearchStrategy[Body]:
    return st.fixed_dictionaries({}, optional=fields)


_PROFILE = _any_of({"type": _TYPES})
_SECURITY = {
    "privileged": st.booleans(),
    "runAsNonRoot": st.booleans(),
    "runAsUser": st.sampled_from([0, 1]),
    "allowPrivilegeEscalation": st.booleans(),
    "procMount": st.sampled_from(["Default", "Unmasked"]),
    "seccompProfile": _PROFILE,
    "appArmorProfile": _PROFILE,
    "seLinuxOptions": _any_of({"type": _TYPES, "user": _TYPES, "role": _TYPES}),
    "windowsOptions": _any_of({"hostProcess": st.booleans()}),
    "capabilities": _any_of({"add": _CAPABILITIES, "drop": _CAPABILITIES}),
}
_SYSCTLS = st.lists(_any_of({"name": _NAMES}), max_size=2)
_PORTS = st.lists(_any_of({"hostPort": st.sampled_from([0, 80])}), max_size=2)
_PROBE = _any_of({"httpGet": _any_of({"host": _NAMES})})
_CONTAINERS = st.lists(
    _any_of(
        {
            "name": _NAMES,
            "image": _NAMES,
            "securityContext": _any_of(_SECURITY),
            "ports": _PORTS,
            "livenessProbe": _PROBE,
        }
    ),
    max_size=3,
)
_VOLUMES = st.lists(_any_of({"name": _NAMES, "hostPath": _any_of({"path": _NAMES})}), max_size=3)
_SPECS = _any_of(
    {
        "containers": _CONTAINERS,
        "initContainers": _CONTAINERS,
        "ephemeralContainers": _CONTAINERS,
        "securityContext": _any_of(
            {key: _SECURITY[key] for key in ("runAsNonRoot", "runAsUser", "seccompProfile")}
            | {"sysctls": _SYSCTLS}
        ),
        "hostPID": st.booleans(),
        "volumes": _VOLUMES,
        "os": _any_of({"name": st.sampled_from(["windows", "linux"])}),
    }
)
_KEYS = st.sampled_from([*_SECURITY, "containers", "volumes", "securityContext", "ports", "name"])
_MESS = st.recursive(
    _WRONG,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_LEVELS = st.sampled_from(["privileged", "baseline", "restricted"])
_VERSIONS = st.sampled_from(["latest", *(f"v1.{minor}" for minor in range(36))])
_EXCLUSIONS = st.lists(
    st.fixed_dictionaries(
        {"controlName": st.sampled_from(sorted(CONTROLS))},
        optional={
            "images": st.lists(st.sampled_from(["*", "a", "b?"]), min_size=1, max_size=2),
            "values": st.lists(st.sampled_from(["*", "true", "CHOWN", ""]), max_size=2),
            "restrictedField": st.sampled_from(
                ["spec.hostPID", "spec.containers[*].securityContext.privileged", "spec.x"]
            ),
        },
    ),
    max_size=4,
)


def _pod(spec: Any) -> Resource:
    metadata = {"name": "p", "namespace": "default"}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


@given(_SPECS, _LEVELS, _VERSIONS, _EXCLUSIONS)
@draws(300)
def test_lifting_takes_away_and_never_adds(
    spec: Body, level: str, version: str, bodies: list[Body]
) -> None:
    chosen = choose(level, version)
    pod = read_pod(_pod(spec))
    found = find(chosen, pod)
    left = lift_all([compile_exclusion(body, chosen) for body in bodies], found, pod)
    errors = {one.check: list(one.errors or ()) for one in found}
    order = [one.check for one in found]
    assert [one.check for one in left] == sorted({one.check for one in left}, key=order.index)
    for one in left:
        assert set(one.errors or ()) <= set(errors[one.check])
        assert one.errors or not errors[one.check]
    touched = {check for body in bodies for check in CONTROLS[body["controlName"]]}
    assert [one for one in left if one.check not in touched] == [
        one for one in found if one.check not in touched
    ]
    assert find(chosen, pod) == found


@given(_SPECS | _MESS, _LEVELS)
@draws(300)
def test_every_workload_has_a_result(spec: Any, level: str) -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    rule = {"name": "r", "match": match, "validate": {"podSecurity": {"level": level}}}
    body: Body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}
    body |= {"metadata": {"name": "p"}, "spec": {"rules": [rule]}}
    pod = _pod(spec)
    before = copy.deepcopy(pod.body)
    (result,) = evaluate([compile_policy(Resource(body))], Request(pod))
    assert result.status in (Status.PASS, Status.FAIL, Status.ERROR)
    assert (result.status is Status.FAIL) is bool(result.properties)
    assert pod.body == before


_CHECKOUT: Final = "KYVERNO_CHECKOUT"
"""The environment variable with the folder of Kyverno's source."""


def _policy(rule: Body) -> Resource:
    metadata = {"name": "p"}
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": metadata}
    return Resource({**body, "spec": {"background": False, "rules": [rule]}})


def _documents(rule: Body) -> tuple[Body, ...]:
    """Return what a rule becomes, which compiles; nothing of one that Kyverno refuses."""
    with suppress(CompileError):
        conversion = convert(_policy(rule))
        (outcome,) = conversion.outcomes
        assert "that it becomes is refused" not in outcome.reason
        return conversion.documents
    return ()


@draws(400)
@given(rule=legacy_rules())
def test_what_a_rule_becomes_compiles(rule: Body) -> None:
    _documents(rule)


@pytest.fixture(scope="module")
def kyverno(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kyverno]:
    """Kyverno's engine; skips where it cannot be built."""
    checkout = os.environ.get(_CHECKOUT)
    if checkout is None or shutil.which("go") is None:
        pytest.skip(f"Go and Kyverno's source, which {_CHECKOUT} names, are needed")
    program = Kyverno(Path(checkout), tmp_path_factory.mktemp("kyverno"))
    yield program
    program.close()


@pytest.mark.slow
@draws(200)
@given(rules=st.lists(legacy_rules(), min_size=10, max_size=20))
def test_kyverno_compiles_what_a_rule_becomes(kyverno: Kyverno, rules: list[Body]) -> None:
    documents = [
        {**body, "metadata": {**body["metadata"], "name": f"{number}-{body['metadata']['name']}"}}
        for number, rule in enumerate(rules)
        for body in _documents(rule)
    ]
    case = {"policies": documents, "resource": {"apiVersion": "v1", "kind": "Pod"}}
    answer = kyverno.ask({**case, "operation": "CREATE", "exceptions": []})
    assert not answer.get("error")
    assert not answer.get("panic")
    assert answer["refused"] == {}
