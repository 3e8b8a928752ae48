"""What values become in policies in CEL: exclusions, actions, extension to pod controllers."""

from typing import Any

import pytest

from chartkit.errors import RenderError
from chartkit.helm.render import dry_run
from chartkit.model import Body
from tests.data import from_table
from tests.unit.charts.policies.policy_forms import (
    ADMISSION,
    CLUSTER,
    MINE,
    PLAIN,
    VALIDATING,
    chart,
    conditions,
    expressions,
    render,
)

_VPOL = f"ValidatingPolicy/{MINE}"
_VAP = f"ValidatingAdmissionPolicy/{MINE}"
_BINDING = f"ValidatingAdmissionPolicyBinding/{MINE}"
_LABELS = "(has(object.metadata.labels) ? object.metadata.labels : {})"
_USER = '(has(request.userInfo.username) ? request.userInfo.username : "")'
_NAME = (
    '(has(object.metadata.name) && object.metadata.name != "" ? object.metadata.name : '
    'has(object.metadata.generateName) ? object.metadata.generateName : "")'
)
_NAMESPACE_LABELS = (
    "(namespaceObject != null && has(namespaceObject.metadata.labels) "
    "? namespaceObject.metadata.labels : {})"
)


def _policy(values: Body, form: str = VALIDATING) -> Body:
    return render(form, values)[_VPOL if form == VALIDATING else _VAP]


@pytest.mark.parametrize(
    ("resources", "condition"),
    [
        ({"namespaces": ["a"]}, 'request.namespace == "a"'),
        ({"namespaces": ["a", "b"]}, 'request.namespace in ["a","b"]'),
        (
            {"namespaces": ["a", "b-*", "c.?"]},
            '(request.namespace == "a" || request.namespace.matches("(?s)^(b-.*|c\\\\..)$"))',
        ),
        ({"namespaces": ['a" || true || "']}, 'request.namespace == "a\\" || true || \\""'),
        ({"namespaces": ["object.spec"]}, 'request.namespace == "object\\u002espec"'),
        ({"kinds": ["Pod"], "namespaces": ["a"]}, 'request.namespace == "a"'),
        ({"names": ["a"]}, f'{_NAME} == "a"'),
        ({"name": "a*"}, f'{_NAME}.matches("(?s)^(a.*)$")'),
        ({"selector": {"matchLabels": {"a": "b"}}}, f'("a" in {_LABELS} && {_LABELS}["a"] == "b")'),
        (
            {"selector": {"matchLabels": {"a": "b*"}}},
            f'{_LABELS}.exists(key, (key == "a" && {_LABELS}[key].matches("(?s)^(b.*)$")))',
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            f'("a" in {_LABELS})',
        ),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}},
            f'!("a" in {_NAMESPACE_LABELS})',
        ),
        (
            {
                "selector": {
                    "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]
                }
            },
            f'!("a" in {_LABELS} && {_LABELS}["a"] in ["b"])',
        ),
        ({"operations": ["UPDATE"]}, 'request.operation == "UPDATE"'),
        (
            {"kinds": ["apps/v1/Deployment"]},
            'request.kind.group == "apps" && request.kind.version == "v1" && '
            'request.kind.kind == "Deployment"',
        ),
    ],
)
def test_what_is_excluded(resources: Body, condition: str) -> None:
    for form in (VALIDATING, ADMISSION):
        policy = _policy({"exclude": {"any": [{"resources": resources}]}}, form)
        assert conditions(policy) == {"exclude": f"!({condition})"}


@from_table("subject", "condition")
def test_who_is_excluded(subject: Body, condition: str) -> None:
    off = {PLAIN: {"enabled": False}}
    policy = _policy({"exclude": {"any": [{"subjects": [subject]}]}, "policies": off})
    assert conditions(policy) == {"exclude": f"!({condition})"}


def test_filters_of_all_must_fit_together_and_blocks_add_up() -> None:
    values = {
        "exclude": {"all": [{"resources": {"namespaces": [name]}} for name in ("a*", "*b")]},
        "policyExclude": {MINE: {"any": [{"resources": {"namespaces": ["c"]}}]}},
    }
    both = 'request.namespace.matches("(?s)^(a.*)$") && request.namespace.matches("(?s)^(.*b)$")'
    assert conditions(_policy(values)) == {"exclude": f'!((({both}) || request.namespace == "c"))'}


@pytest.mark.parametrize("form", [VALIDATING, ADMISSION])
def test_what_single_rules_leave_alone_stands_before_their_validation(form: str) -> None:
    values = {
        "exclude": {"any": [{"resources": {"namespaces": ["a"]}}]},
        "policyExclude": {f"{MINE}-second": {"any": [{"resources": {"namespaces": ["b"]}}]}},
        "policyMatchConditions": {f"{MINE}-second": [{"name": "x", "expression": "1 == 1"}]},
    }
    policy = _policy(values, form)
    assert conditions(policy) == {"exclude": '!(request.namespace == "a")'}
    first, second = expressions(policy)
    assert first == "variables.label in variables.labels"
    assert second.startswith('(request.namespace == "b" || !(1 == 1)) || (')


@from_table("resources")
def test_what_stops_kyverno_from_extending_a_cluster_policy_stops_every_form(
    resources: Body,
) -> None:
    values = {"exclude": {"any": [{"resources": resources}]}}
    assert _policy(values)["spec"]["autogen"] == {"podControllers": {"controllers": []}}
    assert set(render(ADMISSION, values)) == {_VAP, _BINDING}


def test_rules_of_one_policy_are_extended_together() -> None:
    values = {"policyExclude": {f"{MINE}-first": {"any": [{"resources": {"names": ["a"]}}]}}}
    with pytest.raises(RenderError, match="extended as a whole"):
        _policy(values)


def test_namespaces_with_an_action_of_their_own_make_a_second_policy() -> None:
    overrides = [
        {"action": "Audit", "namespaces": ["prod-x"]},
        {"action": "Enforce", "namespaces": ["prod-*"]},
    ]
    values = {"validationFailureActionOverrides": {"all": overrides}}
    found = render(VALIDATING, values)
    main, second = found[_VPOL], found[f"{_VPOL}-enforce"]
    elsewhere = '(!(request.namespace == "prod-x") && request.namespace.matches("(?s)^(prod-.*)$"))'
    assert conditions(main) == {"action": f"!({elsewhere})"}
    assert conditions(second) == {"action": elsewhere}
    assert main["spec"]["validationActions"] == ["Audit"]
    assert second["spec"]["validationActions"] == ["Deny"]
    bindings = {
        name: body["spec"]["validationActions"]
        for name, body in render(ADMISSION, values).items()
        if body["kind"].endswith("Binding")
    }
    assert bindings[_BINDING] == ["Audit", "Warn"]
    assert bindings[f"{_BINDING}-enforce"] == ["Deny"]
    assert f"{_BINDING}-enforce-cronjobs" in bindings


def test_an_override_that_changes_nothing_makes_no_second_policy() -> None:
    values = {"validationFailureActionOverrides": {"all": [{"action": "audit"}]}}
    assert list(render(VALIDATING, values)) == [_VPOL]


def test_an_update_of_what_was_wrong_before_passes_where_it_is_enforced() -> None:
    policy = _policy({"validationFailureAction": "Enforce"})
    variables = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    assert list(variables) == ["label", "labels", "oldLabels"]
    assert "object.metadata" not in variables["oldLabels"].replace("oldObject.metadata", "")
    first, second = expressions(policy)
    assert first == (
        '(variables.label in variables.labels) || (request.operation == "UPDATE" && '
        "!(variables.label in variables.oldLabels))"
    )
    # A literal stays what it is.
    assert second.count("'object.spec' != variables.label") == 2
    audited = _policy({})
    assert expressions(audited)[0] == "variables.label in variables.labels"


def test_what_was_excluded_before_was_not_wrong_before() -> None:
    values = {
        "validationFailureAction": "Enforce",
        "exclude": {"any": [{"resources": {"names": ["a"]}}]},
    }
    assert "!((has(oldObject.metadata.name)" in expressions(_policy(values))[0]


def test_an_admission_policy_is_extended_in_policies_of_its_own() -> None:
    found = render(ADMISSION, {})
    controllers, cronjobs = found[f"{_VAP}-controllers"], found[f"{_VAP}-cronjobs"]
    rules = {
        rule["apiGroups"][0]: rule["resources"]
        for rule in controllers["spec"]["matchConstraints"]["resourceRules"]
    }
    assert rules == {
        "": ["replicationcontrollers"],
        "apps": ["daemonsets", "deployments", "replicasets", "statefulsets"],
        "batch": ["jobs"],
    }
    labels = controllers["spec"]["variables"][1]["expression"]
    assert labels.startswith("has(object.spec.template.metadata)")
    labels = cronjobs["spec"]["variables"][1]["expression"]
    assert labels.startswith("has(object.spec.jobTemplate.spec.template.metadata)")
    assert found[f"{_BINDING}-cronjobs"]["spec"]["policyName"] == f"{MINE}-cronjobs"


@from_table("given", "resources", "names")
def test_controllers_that_are_named(given: str, resources: list[str], names: set[str]) -> None:
    values = {"autogenControllers": given}
    autogen = _policy(values)["spec"]["autogen"]
    assert autogen == {"podControllers": {"controllers": resources}}
    found = {key.removeprefix(_VAP) for key in render(ADMISSION, values) if key.startswith(_VAP)}
    assert found == {"", *names}


def test_kyverno_extends_no_policy_in_cel_to_replication_controllers() -> None:
    values = {"autogenControllers": "ReplicationController"}
    with pytest.raises(RenderError, match="ReplicationController"):
        _policy(values)
    assert f"{_VAP}-controllers" in render(ADMISSION, values)


@from_table("version", "kind", "written")
def test_kinds_are_written_as_the_version_serves_them(
    version: str, kind: str, written: str
) -> None:
    (body,) = render(VALIDATING, {"kyvernoVersion": version, "policyKind": kind}).values()
    assert f"{body['apiVersion']} {body['kind']}" == written
    assert body["metadata"].get("namespace") == ("kyverno" if kind == "Policy" else None)


@from_table("values", "message")
def test_a_version_without_the_kind_is_refused(values: Body, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        render(VALIDATING, values)


def test_an_admission_policy_needs_its_kubernetes() -> None:
    with pytest.raises(RenderError, match=r"needs Kubernetes 1\.30"):
        render(ADMISSION, {}, kube_version="v1.29.3-eks-113cf36")
    assert render(ADMISSION, {"kyvernoVersion": "1.8"}, kube_version="v1.30.0-eks-113cf36")


def test_an_admission_policy_of_one_namespace() -> None:
    spec = render(ADMISSION, {"policyKind": "Policy"})[_BINDING]["spec"]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "kyverno"}}
    assert spec["matchResources"]["namespaceSelector"] == selector


def test_a_cluster_policy_that_leaves_users_alone_cannot_run_in_the_background() -> None:
    subjects = [{"kind": "User", "name": "root"}]
    off = {PLAIN: {"enabled": False}}
    root = {"exclude": {"any": [{"subjects": subjects}]}, "policies": off}
    with pytest.raises(RenderError, match=r"policy mine: users.*policies\.mine\.background: false"):
        render(CLUSTER, root)
    assert render(CLUSTER, {**root, "background": False})


@pytest.mark.parametrize(
    ("version", "kind"), [("1.16", "ClusterPolicy"), ("1.17", VALIDATING), ("1.19", VALIDATING)]
)
def test_the_kyverno_version_settles_the_form(version: str, kind: str) -> None:
    assert list(render(None, {"kyvernoVersion": version})) == [f"{kind}/{MINE}"]


def test_a_policy_without_a_form_comes_as_cluster_policy_and_notes_say_so() -> None:
    values: dict[str, Any] = {"policyType": VALIDATING, "kyvernoVersion": "1.19"}
    assert list(render(VALIDATING, {}, only=PLAIN)) == [f"ClusterPolicy/{PLAIN}"]
    notes = dry_run(chart(), [values], kube_version="v1.34.0").notes
    assert "of type ValidatingPolicy" in notes
    assert f"ClusterPolicy of kyverno.io/v1 (1):\n  {PLAIN}\n" in notes
    values = {
        **values,
        "policyPreconditions": {PLAIN: {"all": [{"key": "a", "operator": "Equals"}]}},
    }
    assert dry_run(chart(), [values], kube_version="v1.34.0").notes


def test_requests_of_the_background_controller() -> None:
    policy = _policy({"skipBackgroundRequests": True})
    account = '"system:serviceaccount:kyverno:kyverno-background-controller"'
    assert conditions(policy) == {
        "background-requests": (
            f"!has(request.userInfo.username) || request.userInfo.username != {account}"
        )
    }


def test_two_conditions_of_one_name_are_refused() -> None:
    given = [{"name": "a", "expression": "true"}]
    values = {"policyMatchConditions": {MINE: given}, "vpolExclude": {"matchConditions": given}}
    with pytest.raises(RenderError, match="two match conditions are named 'a'"):
        _policy(values)
