import pytest

from chartkit.engine.cel_policies.checks import refused_by_server
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.model import Body, Resource

_PODS: Body = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
}


def _refusals(expression: str, kind: str = "ValidatingAdmissionPolicy") -> list[str]:
    group = "admissionregistration.k8s.io" if "Admission" in kind else "policies.kyverno.io"
    spec: Body = {"matchConstraints": _PODS, "validations": [{"expression": expression}]}
    body: Body = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "p"},
        "spec": spec,
    }
    return [one.message for one in refused_by_server(read_cel_policy(Resource(body)))]


@pytest.mark.parametrize(
    "expression",
    ["object.metadata.?labels.orValue({}).size() > 0", "has(object.spec) && request.name != ''"],
)
def test_what_a_server_takes(expression: str) -> None:
    assert _refusals(expression) == []


KYVERNOS_OWN = 'object.metadata.?labels[?"app"].orValue(null) != ""'


def test_what_kyverno_alone_takes() -> None:
    (message,) = _refusals(KYVERNOS_OWN)
    assert message.startswith("p: spec.validations[0].expression: Invalid value: ")
    assert "found no matching overload for '_!=_'" in message


def test_a_policy_of_kyvernos_own_is_no_servers_matter() -> None:
    assert _refusals(KYVERNOS_OWN, "ValidatingPolicy") == []
