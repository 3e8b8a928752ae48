"""Policies as a cluster gives them: with a status, defaults and what controllers write."""

from chartkit.model import Body
from tests.api_server import Api
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import labelled, pod


def _vap(name: str, **labels: str) -> Body:
    rules = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        "operations": ["CREATE"],
        "scope": "*",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": labels, "generation": 1},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "resourceRules": [rules],
            },
            "validations": [{"expression": "has(object.metadata.labels)", "message": "m"}],
        },
        "status": {"observedGeneration": 1, "typeChecking": {}},
    }


def _binding(name: str, policy: str) -> Body:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy, "validationActions": ["Deny"]},
    }


def test_a_policy_with_all_that_a_cluster_adds(world: World) -> None:
    body = labelled("inside")
    body["metadata"]["generation"] = 2
    body["spec"] |= {
        "admission": True,
        "background": True,
        "emitWarning": False,
        "validationFailureAction": "Audit",
    }
    rule = body["spec"]["rules"][0]
    rule["skipBackgroundRequests"] = True
    rule["validate"]["allowExistingViolations"] = True
    body["status"] = {
        "autogen": {"rules": []},
        "conditions": [
            {
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "message": "Ready",
                "reason": "Succeeded",
                "status": "True",
                "type": "Ready",
            }
        ],
        "rulecount": {"generate": 0, "mutate": 0, "validate": 1, "verifyimages": 0},
        "validatingadmissionpolicy": {"generated": False, "message": ""},
    }
    world.server.add(pod("a"), body)
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert (code, err) == (1, "")
    assert "fail: 1," in out


def test_kubernetes_own_policies_with_bindings_but_not_those_of_kyverno(world: World) -> None:
    made = {"app.kubernetes.io/managed-by": "kyverno"}
    world.server.add(
        pod("a"),
        _vap("own"),
        _binding("own-binding", "own"),
        _vap("made", **made),
        _binding("made-binding", "made"),
    )
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert (code, err) == (1, "")
    assert "own" in out
    assert "made" not in out


def test_a_policy_that_cannot_be_read_is_named_by_its_place(world: World) -> None:
    broken = labelled("broken")
    broken["spec"]["rules"][0]["validate"]["foreach"] = []
    broken["spec"]["rules"][0]["match"] = {}
    world.server.add(pod("a"), broken, labelled("inside"))
    code, out, err = world.scan("--cluster", "--cluster-policies")
    assert code == 1
    assert err.startswith("/apis/kyverno.io/v1/clusterpolicies/broken: error")
    assert "inside/rule" in out


def test_a_kind_that_is_served_in_several_versions(world: World) -> None:
    world.server.serve(Api("kyverno.io", "v2beta1", "clusterpolicies", "ClusterPolicy", False))
    world.server.add(pod("a"), labelled("inside"))
    world.scan("--cluster", "--cluster-policies")
    asked = [path for path in world.server.asked() if path.endswith("/clusterpolicies")]
    assert len(asked) == 1
