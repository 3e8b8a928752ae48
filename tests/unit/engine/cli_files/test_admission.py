from chartkit.documents.reader import parse_yaml
from chartkit.engine.cli_files.admissions import Admissions
from chartkit.engine.cli_files.user_files import read_values
from chartkit.engine.cluster_policy.compile import CompiledPolicy, compile_policy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.policies import compile_any, evaluate, sorted_out
from chartkit.engine.request import Operation, User
from chartkit.engine.responses import respond
from chartkit.model import Body, Location, Resource, Status
from tests.data import tables
from tests.unit.engine.policies import policy_resource, rule

PLACE = Location("values.yaml")
POD = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}})
VALUES = read_values(
    parse_yaml(
        """
globalValues: {color: red}
namespaceSelector: [{name: shop, labels: {guarded: "yes"}}]
policies:
  - name: p
    resources: [{name: a, values: {size: 3}}]
subresources:
  - subresource: {name: pods/exec, kind: PodExecOptions, version: v1}
    parentResource: {name: pods, kind: Pod, version: v1}
"""
    ),
    PLACE,
)


def test_each_policy_has_its_variables() -> None:
    request = Admissions(["p", "q", "p"], VALUES, User("me")).request(POD)
    assert request.variables == {"p": {"color": "red", "size": 3}, "q": {"color": "red"}}
    assert request.namespace_labels == {"guarded": "yes"}
    assert request.user == User("me")


def test_an_operation_stands_above_the_values() -> None:
    request = Admissions(["p"], VALUES).request(POD, "DELETE")
    assert request.variables["p"]["request.operation"] == "DELETE"


def test_nothing_said_is_nothing_to_see() -> None:
    request = Admissions(["p"], namespaces={"shop": {"a": "b"}}).request(POD)
    assert request.variables == {}
    assert request.namespace_labels == {"a": "b"}


def test_a_subresource_is_matched_by_its_parent() -> None:
    exec_options = Resource({**POD.body, "kind": "PodExecOptions"})
    request = Admissions(["p"], VALUES).request(exec_options)
    assert (request.kind, request.subresource) == (GroupVersionKind("", "v1", "Pod"), "exec")


def named(name: str, operation: str, kind: str = "Pod") -> CompiledPolicy:
    match = {"any": [{"resources": {"kinds": [kind], "operations": [operation]}}]}
    body = rule(match=match, validate={"message": "{{ request.operation }}", "deny": {}})
    resource = policy_resource(body, background=False)
    resource.body["metadata"]["name"] = name
    return compile_policy(resource)


def test_the_operation_is_that_of_each_policy() -> None:
    policies = [named("p", "DELETE"), named("q", "CREATE"), named("p2", "CREATE")]
    given = {"name": "p", "resources": [{"name": "a", "values": {"request.operation": "DELETE"}}]}
    values = read_values({"policies": [given]}, PLACE)
    request = Admissions(["p", "q", "p2"], values).request(POD)
    assert request.operation is Operation.CREATE
    found = [(one.policy, one.status, one.message) for one in evaluate(policies, request)]
    assert found == [
        ("p", Status.FAIL, "DELETE"),
        ("q", Status.FAIL, "CREATE"),
        ("p2", Status.FAIL, "CREATE"),
    ]


def test_responses_stand_by_policy_even_without_results() -> None:
    policy = named("p", "CREATE", "Service")
    (response,) = respond([policy], Admissions(["p"]).request(POD))
    assert (response.policy, response.results) == (policy, ())
    assert response.resource is response.patched is POD


def test_a_namespace_of_the_values_stands_above_one_that_was_found() -> None:
    body = {"metadata": {"name": "shop", "annotations": {"a": "b"}}}
    values = read_values({"namespaces": [body]}, Location("values.yaml"))
    found: dict[str, Body] = {"shop": {"metadata": {"name": "shop"}}, "web": {}}
    request = Admissions([], values, namespace_objects=found).request(POD)
    assert request.namespace == {"apiVersion": "v1", "kind": "Namespace", **body}
    labelled = read_values({"namespaceSelector": [{"name": "shop"}]}, Location("values.yaml"))
    assert Admissions([], labelled, namespace_objects=found).request(POD).namespace is None
    assert Admissions([], namespace_objects=found).request(POD).namespace is found["shop"]


def test_a_property_of_a_result_may_give_its_message() -> None:
    body = policy_resource().body
    body = {
        **body,
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "spec": tables(__file__)["a_property_of_a_result_may_give_its_message"],
    }
    policy = compile_any(Resource(body))
    (admitting,), _ = sorted_out([policy])
    (result,) = evaluate([admitting], Admissions([]).request(POD))
    assert (result.status, result.message) == (Status.FAIL, "told otherwise")
