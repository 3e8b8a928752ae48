"""Evaluations: Kyverno's ConfigMap, results of rules, and objects whose reads are recorded."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cli_files.admissions import UserValues
from chartkit.engine.cli_files.world import UserMocks
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.cluster_policy.run import context_of
from chartkit.engine.configuration import parse_resource_filters, read_configuration
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.world import World
from chartkit.engine.reads import Reads, ReadTree, RecordedObject
from chartkit.engine.request import Operation, Request, User
from chartkit.errors import CompileError
from chartkit.model import Body, Json, Resource, RuleResult, Status
from tests.data import from_table, tables
from tests.unit.engine.policies import obj, policy_resource, request, rule

POD = GroupVersionKind("", "v1", "Pod")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    ("text", "kind", "subresource", "namespace", "name", "left_out"),
    [
        ("[Pod,*,*]", POD, "", "a", "b", True),
        ("[Pod,*,*]", POD, "", "a", "", True),
        ("[Pod,*,*]", POD, "exec", "a", "b", False),
        ("[Pod/*,*,*]", POD, "exec", "a", "b", True),
        ("[Pod/*,*,*]", POD, "", "a", "b", True),
        ("[Pod/?*,*,*]", POD, "", "a", "b", False),
        ("[Pod/?*,*,*]", POD, "exec", "a", "b", True),
        ("[Pod.exec,*,*]", POD, "exec", "a", "b", True),
        ("[*/exec,*,*]", POD, "exec", "a", "b", True),
        ("[*/exec,*,*]", POD, "", "a", "b", False),
        ("[*,*,*]", POD, "", "a", "b", True),
        ("[*,*,*]", POD, "exec", "a", "b", False),
        ("[*/*,kube-*,*]", DEPLOYMENT, "scale", "kube-system", "b", True),
        ("[*/*,kube-*,*]", DEPLOYMENT, "", "kube", "b", False),
        ("[v1/Pod,*,*]", POD, "", "a", "b", True),
        ("[v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", True),
        ("[apps/v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", True),
        ("[batch/v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", False),
        ("[*/v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", False),
        ("[v1/Deployment/scale,*,*]", DEPLOYMENT, "scale", "a", "b", True),
        ("[apps/v1/Deployment/scale,*,*]", DEPLOYMENT, "scale", "a", "b", True),
        ("[apps/v1/Deployment/scale,*,*]", DEPLOYMENT, "", "a", "b", False),
        ("[a/b/c/d/e,*,*]", POD, "", "a", "b", False),
        # Without a namespace or a name the filter has empty ones, which are not wildcards.
        ("[Pod]", POD, "", "a", "b", False),
        ("[Pod,a]", POD, "", "a", "b", False),
        ("[Pod,a]", POD, "", "a", "", True),
        ("[,a,b]", POD, "", "a", "b", False),
        ("[Pod,a,b,c]", POD, "", "a", "b", False),
        ("[Pod, a,b]", POD, "", "a", "b", False),
        ("[pod,*,*]", POD, "", "a", "b", False),
        ("Pod,*,*", POD, "", "a", "b", False),
        ("[Pod,*,n-?]", POD, "", "a", "n-1", True),
        ("[Pod,*,n-?]", POD, "", "a", "n-", False),
        # A namespace is left out by name and by its own name in the namespace's place.
        ("[*/*,kube-system,*]", NAMESPACE, "", "kube-system", "kube-system", True),
        ("[*/*,kube-system,*]", NAMESPACE, "", "", "kube-system", True),
        ("[*/*,kube-system,x]", NAMESPACE, "", "", "kube-system", True),
        ("[Pod,kube-system,*]", NAMESPACE, "", "", "kube-system", False),
        ("[Namespace,*,a]", NAMESPACE, "", "a", "a", True),
        ("[Namespace,,*]", NAMESPACE, "", "", "a", True),
    ],
)
def test_resource_filters(
    text: str, kind: GroupVersionKind, subresource: str, namespace: str, name: str, left_out: bool
) -> None:
    found = parse_resource_filters(text)
    about = [each for each in found if each.is_about(kind, subresource)]
    assert any(each.leaves_out(kind, namespace, name) for each in about) is left_out


@pytest.mark.parametrize(
    "text", ["[Event,*,*][Pod,*,*]", "[Event,*,*] [Pod,*,*]\n", "x[Event,*,*],\n- [Pod,*,*]y"]
)
def test_what_stands_between_filters_is_passed_over(text: str) -> None:
    assert [each.text for each in parse_resource_filters(text)] == ["[Event,*,*]", "[Pod,*,*]"]


def _pod(namespace: str = "shop", labels: Body | None = None) -> Resource:
    metadata = {"name": "a", "namespace": namespace, "labels": labels or {}}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def _unsent(resource: Resource, labels: dict[str, str] | None = None, **data: object) -> list[str]:
    texts = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in data.items()
    }
    return [str(each) for each in read_configuration(texts).unsent(resource, labels)]


NOT_SYSTEM = tables(__file__)["not-system"]
ENABLED = {"namespaceSelector": {"matchLabels": {"kyverno": "on"}}}


def test_a_namespace_is_known_by_its_name() -> None:
    assert _unsent(_pod(), webhooks=NOT_SYSTEM) == []
    text = "namespaceSelector kubernetes.io/metadata.name NotIn [kube-system]"
    assert _unsent(_pod("kube-system"), webhooks=NOT_SYSTEM) == [text]
    # A list, as older charts wrote it, Kyverno does not read.
    assert _unsent(_pod("kube-system"), webhooks=[NOT_SYSTEM]) == []
    namespace = Resource(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
    )
    assert _unsent(namespace, webhooks=NOT_SYSTEM) == [text]
    role = Resource({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"})
    assert _unsent(role, webhooks=NOT_SYSTEM) == []


def test_labels_that_nobody_knows_send_a_request() -> None:
    assert _unsent(_pod(), None, webhooks=ENABLED) == []
    assert _unsent(_pod(), {"kyverno": "on"}, webhooks=ENABLED) == []
    assert _unsent(_pod(), {}, webhooks=ENABLED) == ["namespaceSelector kyverno=on"]


def test_an_object_selector_looks_at_the_object() -> None:
    wanted = {"objectSelector": {"matchLabels": {"a": "b"}}}
    assert _unsent(_pod(), webhooks=wanted) == ["objectSelector a=b"]
    assert _unsent(_pod(labels={"a": "b"}), webhooks=wanted) == []


def test_configuration_match_conditions() -> None:
    conditions = [
        {"name": "no-shop", "expression": "request.namespace != 'shop'"},
        {"name": "no-nodes", "expression": "!('system:nodes' in request.userInfo.groups)"},
        {"name": "unknown", "expression": "object.spec.x.y == 1"},
    ]
    assert _unsent(_pod(), matchConditions=conditions) == ["matchConditions no-shop"]
    assert _unsent(_pod("other"), matchConditions=conditions) == []


@from_table("text")
def test_what_kyverno_cannot_read_keeps_nothing_away(text: str) -> None:
    assert _unsent(_pod(), webhooks=text, matchConditions=text) == []


_LABEL: Body = {"message": "m", "pattern": {"metadata": {"labels": {"app": "?*"}}}}


def _results(
    *rules: Body, given: Request | None = None, annotations: Body | None = None, **spec: Any
) -> list[RuleResult]:
    resource = policy_resource(*rules, **spec)
    metadata = {"name": "p", "annotations": annotations or {}}
    compiled = compile_policy(Resource({**resource.body, "metadata": metadata}))
    return evaluate([compiled], given or request())


def _shown(results: list[RuleResult]) -> list[tuple[str, str, str]]:
    return [(one.rule, one.status.value, one.message) for one in results]


def test_a_rule_passes() -> None:
    assert _shown(_results()) == [("r", "pass", "validation rule 'r' passed.")]


def test_a_rule_fails_with_kyvernos_text() -> None:
    message = "validation error: m. rule r failed at path /metadata/labels/"
    assert _shown(_results(rule(validate=_LABEL))) == [("r", "fail", message)]


def test_what_does_not_match_has_no_result() -> None:
    assert _results(given=request(obj("Service"))) == []


def test_a_failure_that_is_not_scored_is_a_warning() -> None:
    annotations = {"policies.kyverno.io/scored": "false"}
    results = _results(rule(validate=_LABEL), annotations=annotations)
    assert [one.status for one in results] == [Status.WARN]


def test_a_controller_is_judged_by_the_rule_made_for_it() -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
    }
    results = _results(rule(validate=_LABEL), given=request(Resource(body)))
    message = (
        "validation error: m. rule autogen-r failed at path /spec/template/metadata/labels/app/"
    )
    assert _shown(results) == [("autogen-r", "fail", message)]


def test_apply_one_stops_after_the_first_rule_that_applies() -> None:
    rules = rule("a"), rule("b")
    assert [one.rule for one in _results(*rules)] == ["a", "b"]
    assert [one.rule for one in _results(*rules, applyRules="One")] == ["a"]


def test_apply_one_goes_on_after_a_skip() -> None:
    unmet = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}
    results = _results(rule("a", preconditions=unmet), rule("b"), applyRules="One")
    assert _shown(results) == [
        ("a", "skip", "preconditions not met"),
        ("b", "pass", "validation rule 'b' passed."),
    ]


def test_an_unmet_precondition_says_so() -> None:
    condition = {"key": "a", "operator": "Equals", "value": "b", "message": "because"}
    results = _results(rule(preconditions={"all": [condition]}))
    assert _shown(results) == [("r", "skip", "preconditions not met; because")]


def test_a_precondition_that_cannot_be_decided_is_an_error() -> None:
    condition = {"key": "{{ request.object.missing }}", "operator": "Equals", "value": "b"}
    (result,) = _results(rule(preconditions={"all": [condition]}))
    assert result.status is Status.ERROR
    assert result.message.startswith("failed to evaluate preconditions: ")
    assert 'Unknown key "missing" in path' in result.message


def test_context_entries_stay_with_their_rule() -> None:
    context = [{"name": "a", "variable": {"value": "x"}}]
    conditions = {"all": [{"key": "{{ a }}", "operator": "Equals", "value": "x"}]}
    deny = {"message": "{{ a }}", "deny": {"conditions": conditions}}
    results = _results(rule("with", context=context, validate=deny), rule("without"))
    assert _shown(results)[0] == ("with", "fail", "x")
    assert _shown(results)[1][1] == "pass"


def test_rules_in_cel_are_judged() -> None:
    expressions = [{"expression": "object.metadata.name != 'a'", "message": "no"}]
    (result,) = _results(rule(validate={"cel": {"expressions": expressions}}))
    assert (result.status, result.message) == (Status.FAIL, "no")


@pytest.mark.parametrize(
    ("expression", "statuses"),
    [
        ("false", []),
        ("object.metadata.name == 'a'", [Status.PASS]),
        ("object.nope", [Status.ERROR]),
        ("object.nope == 1 && false", []),
    ],
)
def test_match_conditions_decide_what_is_sent(expression: str, statuses: list[Status]) -> None:
    conditions = [{"name": "a", "expression": expression}]
    results = _results(rule("a"), webhookConfiguration={"matchConditions": conditions})
    assert [result.status for result in results] == statuses


def test_mutation_comes_before_validation() -> None:
    mutate = rule("m", mutate={"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}})
    del mutate["validate"]
    resources = policy_resource(rule("v")), policy_resource(mutate)
    results = evaluate([compile_policy(one) for one in resources], request())
    assert [one.rule for one in results] == ["m", "v"]


def test_deleted_objects_have_no_pattern_result() -> None:
    assert _results(given=request(operation=Operation.DELETE)) == []


def test_deny_sees_the_old_object_of_a_deletion() -> None:
    key = "{{ request.oldObject.metadata.name }}"
    conditions = {"all": [{"key": key, "operator": "Equals", "value": "a"}]}
    body = rule(validate={"message": "no", "deny": {"conditions": conditions}})
    results = _results(body, given=request(operation=Operation.DELETE))
    assert _shown(results) == [("r", "fail", "no")]


def test_exceptions_skip_the_rule() -> None:
    exception = Resource(tables(__file__)["exceptions_skip_the_rule"])
    compiled = compile_policy(policy_resource(), [read_exception(exception)])
    results = evaluate([compiled], request())
    message = "rule is skipped due to policy exceptionsns/e"
    assert _shown(results) == [("r", "skip", message)]


def test_values_of_the_user_change_what_a_policy_sees() -> None:
    body = rule(validate=_LABEL)
    compiled = compile_policy(policy_resource(body))
    variables = {"p": {"request.object.metadata.labels.app": "web"}}
    results = evaluate([compiled], request(variables=variables))
    assert [one.status for one in results] == [Status.PASS]
    assert evaluate([compiled], request())[0].status is Status.FAIL


def test_values_of_a_rule() -> None:
    context = [{"name": "a", "variable": {"value": "x"}}]
    compiled = compile_policy(policy_resource(rule(context=context)))
    values = UserValues(by_rule={("p", "r"): {"b.c": "d"}})
    assert evaluate([compiled], request(), World(mocks=UserMocks(values)))[0].status is Status.PASS


def test_properties_of_a_rule() -> None:
    properties = {"team": "{{ request.object.metadata.name }}", "passMessage": "fine"}
    (result,) = _results(rule(reportProperties=properties))
    assert result.message == "fine"
    assert result.properties == {"team": "a", "passMessage": "fine"}


def test_properties_that_cannot_be_substituted_stay_as_written() -> None:
    properties = {"team": "{{ request.object.missing }}"}
    (result,) = _results(rule(reportProperties=properties))
    assert result.properties == properties


def test_what_expressions_see_of_a_request() -> None:
    user = User("alice", "1", ("dev",), {"k": ["v"]}, ("a:b",), ("c",))
    seen = context_of(request(user=user)).data["request"]
    assert seen["operation"] == "CREATE"
    assert seen["namespace"] == "default"
    assert seen["userInfo"] == {
        "username": "alice",
        "uid": "1",
        "groups": ["dev"],
        "extra": {"k": ["v"]},
    }
    assert (seen["roles"], seen["clusterRoles"]) == (["a:b"], ["c"])


def test_the_object_is_never_changed() -> None:
    given = obj(labels={"a": "b"})
    before = str(given.body)
    _results(rule(validate=_LABEL), given=request(given))
    assert str(given.body) == before


def test_a_policy_that_kyverno_refuses_does_not_compile() -> None:
    with pytest.raises(CompileError):
        compile_policy(policy_resource(rule(validate={})))


_KEYS = st.sampled_from(("a", "b", "c"))
_SCALARS = st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from((1.0, "", "x"))
_VALUES = st.recursive(
    _SCALARS, lambda one: st.lists(one, max_size=2) | st.dictionaries(_KEYS, one, max_size=3)
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=3)
_USES: tuple[Callable[[Any], Any], ...] = (
    json.dumps,
    lambda value: json.dumps(value, indent=1),
    repr,
    bool,
    len,
    list,
    dict,
    copy.copy,
    copy.deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),  # noqa: S301
    lambda value: {**value},
    lambda value: {"d": 1, "b": 2} | value,
    lambda value: value | {"d": 1},
    lambda value: sorted(value.items(), key=repr),
    lambda value: list(value.values()),
    lambda value: [key in value for key in ("a", "d")],
    lambda value: [value.get(key, 7) for key in ("a", 1)],
    lambda value: value["a"],
    lambda value: value == value.copy() and value.copy() == value,
    lambda value: value.__class__ is dict and isinstance(value, dict),
)


def _answered(use: Callable[[Any], Any], value: Json) -> str:
    try:
        return repr(use(value))
    except KeyError as error:
        return f"no {error}"


@pytest.mark.parametrize("use", _USES)
@given(first=st.none() | _KEYS, value=_OBJECTS)
def test_a_recorded_object_is_as_a_plain_one(
    use: Callable[[Any], Any], first: str | None, value: Body
) -> None:
    recorded = Reads(value).roots[0]
    if first is not None:
        recorded.get(first)
    assert _answered(use, recorded) == _answered(use, value)


def test_only_what_is_read_is_recorded() -> None:
    reads = Reads({"a": {"b": 1, "c": 2}, "d": [{"e": 3}, "x"], "f": {}})
    root = reads.roots[0]
    assert root["a"]["b"] == 1
    assert root["a"].get("z") is None
    assert [one for one in root["d"] if isinstance(one, str)] == ["x"]
    assert reads.course == ((0, None), (1, "a"), (2, "b"), (2, "z"), (1, "d"))


def test_scalars_may_be_converted() -> None:
    reads = Reads({"a": [1, {"b": 2}]})
    assert json.dumps(reads.roots[0].converted(lambda value: value + 1)) == '{"a": [2, {"b": 3}]}'
    assert json.dumps(reads.roots[0]) == '{"a": [1, {"b": 2}]}'


def _walked(value: Json, path: list[str]) -> str:
    """Return what a small program comes to: it goes down a path as far as there is one."""
    for index, key in enumerate(path):
        if not isinstance(value, dict):
            return f"{index} {value!r}"
        if key not in value:
            return f"{index} {key if value else 'empty'}"
        value = value[key]
    return json.dumps(value)


@given(paths=st.lists(st.lists(_KEYS, max_size=3), max_size=4), objects=st.lists(_OBJECTS))
def test_a_tree_finds_what_an_evaluation_comes_to(
    paths: list[list[str]], objects: list[Body]
) -> None:
    def evaluated(value: Json) -> str:
        text = ""
        for path in paths:
            text += _walked(value, path)
            if "x" in text:
                break
        return text

    tree: ReadTree[str] = ReadTree()
    for value in objects:
        found = tree.find(value)
        if found is None:
            reads = Reads(value)
            made = evaluated(reads.roots[0])
            assert made == evaluated(value)
            tree.keep(reads, made)
            found = tree.find(value)
        assert found == evaluated(value)


def test_the_reads_of_several_evaluations_are_joined() -> None:
    value = {"a": {"b": {"c": 1}}, "d": [{"e": 2}]}
    first, second = Reads(value), Reads(value)
    assert first.roots[0]["d"][0]["e"] + first.roots[0]["a"]["b"]["c"] == 3
    assert second.roots[0]["a"]["b"]["c"] == 1
    joined = Reads.joined([first.course, second.course], value)
    assert joined.answers == first.answers


def test_a_recorded_object_is_told_apart_by_its_own_type_alone() -> None:
    assert isinstance(Reads({"a": 1}).roots[0], RecordedObject)


def test_the_paths_of_reads_lead_through_lists_and_objects() -> None:
    reads = Reads({"a": [{"b": {"c": 1}}, {"b": {}}], "x": 1}, {"d": {"e": 2}})
    first, second = reads.roots
    assert [member["b"].get("c") for member in first["a"]] == [1, None]
    assert dict(second["d"].items()) == {"e": 2}
    read = set(reads.paths()) - {(None,)}
    below = {("0", "a"), ("0", "a", None, "b"), ("0", "a", None, "b", "c")}
    assert read == below | {("1", "d"), ("1", "d", None)}
