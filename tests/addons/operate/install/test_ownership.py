"""Objects that are there before a release is: refused, or taken over."""

import pytest

from chartkit.model import Body
from tests.addons.operate.install.conftest import World
from tests.small_charts import write_project

_PATH = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/bound"


def _binding(action: str) -> Body:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "bound"},
        "spec": {"policyName": "first", "validationActions": [action]},
    }


@pytest.mark.slow
def test_objects_of_others_are_taken_over_on_request(world: World) -> None:
    write_project(world.project, policies=[_binding("Deny")])
    world.server.put(_PATH, _binding("Audit"))
    code, out, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "invalid ownership metadata" in out + err
    world.done("--take-ownership")
    stored = world.server.objects[_PATH]
    assert stored["spec"]["validationActions"] == ["Deny"]
    assert stored["metadata"]["annotations"]["meta.helm.sh/release-name"] == "kyverno-policies"
    world.done()
