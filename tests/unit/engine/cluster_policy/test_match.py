from typing import Any

from chartkit.engine.cluster_policy.match import Facts, always, bind_exception, bind_match
from chartkit.engine.cluster_policy.policy import read_match
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.request import Operation, Request, User
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.unit.engine.policies import obj

POD = GroupVersionKind("", "v1", "Pod")


def _matches(
    match: Body,
    resource: Resource | None = None,
    exclude: Body | None = None,
    policy_namespace: str = "",
    **fields: Any,
) -> bool:
    request = Request(resource or obj(), **fields)
    kind = request.kind or kind_of(request.resource)
    excluded = read_match(exclude) if exclude is not None else None
    predicate = bind_match(read_match(match), excluded, policy_namespace, kind, request.subresource)
    return predicate is not None and predicate(Facts(request))


def _pod(**resources: Any) -> Body:
    return {"any": [{"resources": {"kinds": ["Pod"], **resources}}]}


@from_table("selector", "fits")
def test_cluster_policy_match_kinds(selector: str, fits: bool) -> None:
    assert _matches({"any": [{"resources": {"kinds": [selector]}}]}) is fits


def test_kind_and_subresource() -> None:
    kinds = {"any": [{"resources": {"kinds": ["Deployment/scale"]}}]}
    deployment = GroupVersionKind("apps", "v1", "Deployment")
    scale = obj("Scale", "autoscaling/v1")
    assert _matches(kinds, scale, kind=deployment, subresource="scale")
    assert not _matches(kinds, scale, kind=deployment, subresource="status")


def test_ephemeral_containers_count_as_the_pod() -> None:
    assert _matches(_pod(), subresource="ephemeralcontainers")
    assert not _matches(_pod(), subresource="exec")


def test_what_the_kind_alone_decides_needs_no_object() -> None:
    assert bind_match(read_match(_pod()), None, "", POD, "") is always
    assert bind_match(read_match(_pod()), read_match(_pod()), "", POD, "") is None
    other = GroupVersionKind("", "v1", "Secret")
    assert bind_match(read_match(_pod()), None, "", other, "") is None


@from_table("resources", "fits")
def test_cluster_policy_match_descriptions(resources: Body, fits: bool) -> None:
    resource = obj(name="web-1", labels={"app": "web"}, annotations={"own": "me"})
    labels = {"env": "dev"}
    assert _matches(_pod(**resources), resource, namespace_labels=labels) is fits
    excluded = not _matches(
        _pod(), resource, exclude={"any": [{"resources": resources}]}, namespace_labels=labels
    )
    assert excluded is (fits and bool(next(iter(resources.values()))))


def test_a_name_that_is_still_to_be_made() -> None:
    resource = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}})
    assert _matches(_pod(name="web-*"), resource)


def test_namespaces_of_a_namespace_are_its_name() -> None:
    namespace = Resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
    match = {"any": [{"resources": {"kinds": ["Namespace"], "namespaces": ["prod"]}}]}
    assert _matches(match, namespace)
    selector = {"kinds": ["Namespace"], "namespaceSelector": {}}
    assert not _matches({"any": [{"resources": selector}]}, namespace)


def test_labels_of_the_wrong_type_count_as_none() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    assert _matches(_pod(selector=selector), obj(labels={"app": 1}))


def test_all_and_any() -> None:
    pod, named = {"resources": {"kinds": ["Pod"]}}, {"resources": {"names": ["b"]}}
    assert _matches({"any": [pod, named]})
    assert not _matches({"all": [pod, named]})
    assert not _matches(_pod(), exclude={"any": [named, {"resources": {"names": ["a"]}}]})
    assert _matches(_pod(), exclude={"all": [named, {"resources": {"names": ["a"]}}]})


def test_an_empty_filter_matches_nothing_and_excludes_nothing() -> None:
    assert not _matches({"any": [{}]})
    assert _matches(_pod(), exclude={"any": [{}]})


def test_a_namespaced_policy_keeps_to_its_namespace() -> None:
    assert _matches(_pod(), policy_namespace="default")
    assert not _matches(_pod(), policy_namespace="prod")


ALICE = User("alice", groups=("dev",), roles=("default:editor",), cluster_roles=("view",))


@from_table("block", "fits")
def test_cluster_policy_match_users(block: Body, fits: bool) -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"]}, **block}]}
    assert _matches(match, user=ALICE) is fits
    assert _matches(match), "without a known user a match forgets what it says of users"
    assert _matches(_pod(), exclude={"any": [block]}, user=ALICE) is not fits


def test_a_service_account() -> None:
    bot = User("system:serviceaccount:ci:bot")
    subject = {"kind": "ServiceAccount", "name": "b?t", "namespace": "ci"}
    assert _matches({"any": [{"subjects": [subject]}]}, user=bot)


def test_a_match_of_users_alone_needs_a_user() -> None:
    assert not _matches({"any": [{"roles": ["a:b"]}]})


def test_operations_of_the_request() -> None:
    assert _matches(_pod(operations=["DELETE"]), operation=Operation.DELETE)


def test_exceptions_do_not_look_at_operations() -> None:
    match = read_match(_pod(operations=["DELETE"]))
    assert bind_exception(match, POD, "") is always


def test_exceptions_need_a_filter_that_says_something() -> None:
    assert bind_exception(read_match({}), POD, "") is None
    assert bind_exception(read_match({"any": [{}]}), POD, "") is None
    assert bind_exception(read_match({"any": [{"roles": []}]}), POD, "") is None


def test_exceptions_for_users() -> None:
    predicate = bind_exception(read_match({"all": [{"roles": ["default:editor"]}]}), POD, "")
    assert predicate is not None
    assert predicate(Facts(Request(obj(), user=ALICE)))
    assert not predicate(Facts(Request(obj())))


def test_exceptions_by_namespace_labels() -> None:
    selector = {"matchLabels": {"env": "dev"}}
    match = read_match({"any": [{"resources": {"namespaceSelector": selector}}]})
    predicate = bind_exception(match, POD, "")
    assert predicate is not None
    assert predicate(Facts(Request(obj(), namespace_labels={"env": "dev"})))
    assert not predicate(Facts(Request(obj())))
