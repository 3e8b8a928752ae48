"""What rules match: roles, operations, connections and selectors of labels."""

import pytest
import yaml

from chartkit.addons.migrate.differences import CONNECTIONS
from chartkit.addons.migrate.proof import Case, ProofOptions, prove
from chartkit.addons.migrate.proof.requests.cluster import world_of
from chartkit.engine import World
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import RunnablePolicy, evaluate
from chartkit.model import Body, Resource, Status
from tests.addons.migrate.conversions import Converted, converted
from tests.data import from_table

_RBAC = "rbac.authorization.k8s.io/v1"
_GROUP = {"kind": "Group", "name": "admins"}
_USER = {"kind": "User", "name": "ann"}
_ACCOUNT = {"kind": "ServiceAccount", "name": "bot"}
_USERS = (
    {"username": "ann", "groups": ["people"]},
    {"username": "bob", "groups": ["admins"]},
    {"username": "admins", "groups": ["ann"]},
    {"username": "system:serviceaccount:team:bot", "groups": []},
    {"username": "system:serviceaccount:other:bot", "groups": []},
)


def _rule(roles: str, kind: str = "ConfigMap") -> Converted:
    rule = "exclude: {any: [{ROLES}]}\nvalidate: {message: m, pattern: {metadata: {name: other}}}"
    return converted(rule.replace("ROLES", roles), kind)


def _binding(namespace: str, kind: str, role: str, *subjects: Body) -> Body:
    metadata = {"name": f"{namespace}-{role}-{len(subjects)}"}
    return {
        "apiVersion": _RBAC,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {**metadata, "namespace": namespace} if namespace else metadata,
        "roleRef": {"kind": kind, "name": role, "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": list(subjects),
    }


def _refused(policy: RunnablePolicy, user: Body, cluster: Body) -> bool:
    metadata = {"name": "a", "namespace": "team"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    case = Case({"object": body, "operation": "CREATE", "userInfo": user, "cluster": cluster})
    results = evaluate([policy], case.request(), world_of(case.document, World()))
    assert all(one.status is not Status.ERROR for one in results), results
    return any(one.status is Status.FAIL for one in results)


@pytest.mark.parametrize(
    ("roles", "binding", "excluded"),
    [
        ("clusterRoles: [root]", _binding("", "ClusterRole", "root", _USER), {0}),
        ("clusterRoles: [root]", _binding("", "ClusterRole", "root", _GROUP), {1}),
        ("clusterRoles: [root, x]", _binding("team", "ClusterRole", "root", _ACCOUNT), {3}),
        ("clusterRoles: [root]", _binding("other", "ClusterRole", "root", _USER), set()),
        ("clusterRoles: [root]", _binding("", "ClusterRole", "other", _USER), set()),
        ("clusterRoles: ['r*']", _binding("", "ClusterRole", "root", _USER), set()),
        ("clusterRoles: [root]", _binding("team", "Role", "root", _USER), set()),
        ("roles: ['team:root']", _binding("team", "Role", "root", _USER, _ACCOUNT), {0, 3}),
        ("roles: ['other:root']", _binding("other", "Role", "root", _USER), {0}),
        ("roles: ['team:root']", _binding("other", "Role", "root", _USER), set()),
        (
            "clusterRoles: [root]",
            _binding("", "ClusterRole", "root", {**_ACCOUNT, "namespace": "other"}),
            {4},
        ),
        ("clusterRoles: [root]", _binding("", "ClusterRole", "root"), set()),
    ],
)
def test_both_forms_find_the_roles_of_users(roles: str, binding: Body, excluded: set[int]) -> None:
    found = _rule(roles)
    (body,) = found.documents
    cluster: Body = {f"{_RBAC}/rolebindings": [], f"{_RBAC}/clusterrolebindings": []}
    cluster[f"{_RBAC}/{binding['kind'].lower()}s"] = [binding]
    for form in (compile_policy(found.legacy), compile_cel_policy(Resource(body))):
        refused = {at for at, user in enumerate(_USERS) if _refused(form, user, cluster)}
        assert refused == {*range(len(_USERS))} - excluded


@pytest.mark.parametrize("kind", ["ConfigMap", "Node", "Namespace", "Widget", "Pod"])
@pytest.mark.parametrize("roles", ["clusterRoles: [root]", "roles: ['team:root', 'x:a', 'x:b']"])
def test_roles_are_proved(kind: str, roles: str) -> None:
    found = _rule(roles, kind)
    forms = [Resource(body) for body in found.documents]
    proof = prove(found.legacy, forms, options=ProofOptions(most_requests=300))
    assert proof.equal, proof.differences
    states = {place.name: place.states for place in proof.coverage.places}
    assert states["rule rule"]["fail"]


def test_bindings_of_a_namespace_are_not_asked_for_where_there_is_none() -> None:
    assert "rolebindings'" not in _rule("clusterRoles: [root]", "Node").conditions[0].replace(
        "'clusterrolebindings'", ""
    )


def test_a_deny_that_asks_for_the_operation_judges_deletions() -> None:
    condition = "{key: '{{ request.operation }}', operator: AnyIn, value: [DELETE, UPDATE]}"
    found = converted(f"validate: {{message: m, deny: {{conditions: {{any: [{condition}]}}}}}}")
    (rule,) = found.spec["matchConstraints"]["resourceRules"]
    assert rule["operations"] == ["CREATE", "UPDATE", "DELETE"]
    assert found.changes == ()
    proof = prove(found.legacy, [Resource(body) for body in found.documents])
    assert proof.equal, proof.differences


_FILTERS = {
    "selector: {matchLabels: {keep: 'yes'}}": "metadata.?labels.?keep.orValue('') == 'yes'",
    "annotations: {keep: '*'}": "metadata.?annotations.?keep.hasValue()",
    "names: [kept]": "metadata.?name.orValue(OBJECT.metadata.?generateName.orValue('')) == 'kept'",
}
_OBJECTS = {
    "[DELETE]": "oldObject",
    "[CREATE, UPDATE]": "object",
    "[UPDATE, DELETE]": "(request.operation == 'DELETE' ? oldObject : object)",
}


def _deny(match: str) -> Converted:
    resources = f"{{kinds: [ConfigMap], {match}}}"
    return converted(f"{{match: {{any: [{{resources: {resources}}}]}}, validate: {{deny: {{}}}}}}")


@pytest.mark.parametrize("operations", _OBJECTS)
@pytest.mark.parametrize("match", _FILTERS)
def test_matches_ask_the_object_that_goes(match: str, operations: str) -> None:
    found = _deny(f"operations: {operations}, {match}")
    judged = _OBJECTS[operations]
    expected = f"{judged}.{_FILTERS[match]}".replace("OBJECT", judged)
    assert found.conditions == [expected]
    assert found.changes == ()


@pytest.mark.parametrize("operations", _OBJECTS)
@pytest.mark.parametrize("match", [each for each in _FILTERS if not each.startswith("names")])
def test_deletions_are_judged_alike(match: str, operations: str) -> None:
    found = _deny(f"operations: {operations}, {match}")
    forms = [Resource(body) for body in found.documents]
    proof = prove(found.legacy, forms, options=ProofOptions(most_requests=200))
    assert proof.equal


def test_deletions_are_named_where_the_rule_judged_them() -> None:
    assert [change.split(":")[0] for change in _deny("names: [kept]").changes] == [
        "deletions are no longer judged"
    ]
    assert _deny("operations: [CREATE]").changes == ()


def test_excluded_objects_are_those_that_go() -> None:
    rule: Body = yaml.safe_load(
        "{match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]},"
        " exclude: {any: [{resources: {selector: {matchLabels: {free: 'yes'}}}}]},"
        " validate: {deny: {}}}"
    )
    found = converted(yaml.safe_dump(rule))
    assert found.conditions == ["oldObject.metadata.?labels.?free.orValue('') != 'yes'"]


def test_what_the_match_says_of_operations_is_not_asked_again() -> None:
    conditions = (
        "{key: '{{ request.operation }}', operator: NotEquals, value: DELETE},"
        "{key: '{{ request.object.metadata.name }}', operator: Equals, value: a}"
    )
    found = converted(f"validate: {{message: m, deny: {{conditions: {{all: [{conditions}]}}}}}}")
    assert found.expressions == ["object.metadata.name != 'a'"]
    assert found.changes == ()
    proof = prove(found.legacy, [Resource(body) for body in found.documents])
    assert proof.equal, proof.differences


_RULE = "{match: {any: [{resources: {kinds: [%s]}}]}, validate: {message: m, deny: {}}}"


@from_table("kinds", "resources")
def test_kinds_of_connections_become_subresources(kinds: str, resources: list[str]) -> None:
    found = converted(_RULE % kinds)
    (rule,) = found.spec["matchConstraints"]["resourceRules"]
    assert rule["resources"] == resources
    assert rule["operations"] == ["CONNECT"]
    assert found.changes == (CONNECTIONS,)


def test_subresources_are_as_before() -> None:
    assert converted(_RULE % "Pod/exec").changes == ()


@from_table("selector", "expression")
def test_labels_with_wildcards(selector: str, expression: str) -> None:
    resources = f"{{kinds: [ConfigMap], selector: {{matchLabels: {selector}}}}}"
    found = converted(
        f"match: {{any: [{{resources: {resources}}}]}}\n"
        "validate: {message: m, pattern: {data: {a: '?*'}}}"
    )
    assert found.conditions == [expression]
    forms = [Resource(each) for each in found.documents]
    proof = prove(found.legacy, forms, options=ProofOptions(most_requests=300))
    assert proof.equal, proof.differences


@pytest.mark.parametrize(("kind", "tested"), [("Namespace", "request.name"), ("ConfigMap", "")])
def test_namespaces_are_told_apart_by_their_own_names(kind: str, tested: str) -> None:
    rule = "exclude: {any: [{resources: {namespaces: [kube-system]}}]}\nvalidate: {message: m, "
    found = converted(rule + "pattern: {metadata: {name: other}}}", kind)
    (body,) = found.documents
    (condition,) = body["spec"]["matchConditions"]
    assert condition["expression"] == f"{tested or 'request.namespace'} != 'kube-system'"
