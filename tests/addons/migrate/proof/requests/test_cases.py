"""The requests of a proof: their kinds, values and objects, which an API server stores or not."""

from itertools import islice

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.proof.leaves.cel import cel_leaves
from chartkit.addons.migrate.proof.leaves.leaf import Leaf
from chartkit.addons.migrate.proof.leaves.legacy import legacy_leaves
from chartkit.addons.migrate.proof.leaves.paths import ABSENT, path_text
from chartkit.addons.migrate.proof.requests import contents as module
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import Cases, Space, as_sent, base_case
from chartkit.addons.migrate.proof.requests.contents import Contents
from chartkit.addons.migrate.proof.requests.facets import Facet, facets_of
from chartkit.addons.migrate.proof.requests.schema import (
    TEMPLATED,
    as_controller,
    compared_kinds,
    least_object,
    subresources_of,
)
from chartkit.addons.migrate.proof.requests.storable import refusals, with_defaults
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Body, Resource
from chartkit.scan.api_defaults import as_stored
from tests.addons.migrate.proof.policies import legacy
from tests.data import beside

_TEXTS = beside(__file__)

_POD = GroupVersionKind("", "v1", "Pod")
_RULE = _TEXTS["rule"]
_NO_NAMESPACES = _TEXTS["no-namespaces"]


def _leaves(rule: str, kinds: str = "[Pod]") -> list[Leaf]:
    old = legacy(rule, kinds)
    policies = [read_cel_policy(Resource(body)) for body in convert(old).documents]
    leaves = [leaf for policy in policies for leaf in cel_leaves(policy)]
    return [*legacy_leaves(read_policy(old), {leaf.path for leaf in leaves}), *leaves]


def _space(rule: str = _RULE, namespace: str = "default") -> Space:
    facets, unknown = facets_of(_leaves(rule), _POD)
    assert unknown == set()
    body = least_object(_POD)
    body["metadata"]["namespace"] = namespace
    return Space(_POD, (base_case(body, "given"),), tuple(facets), tuple(TEMPLATED))


def _cases(count: int) -> list[Case]:
    return list(islice(Cases().of([_space()], "seed"), count))


def test_each_request_is_made_once_and_an_api_server_may_send_it() -> None:
    found = _cases(1000)
    assert len({repr(case.document) for case in found}) == 1000
    for case in found:
        assert list(refusals(case.document["object"])) == []
        assert ("oldObject" in case.document) is (case.document["operation"] == "UPDATE")


def test_what_is_changed_or_deleted_is_as_an_api_server_sends_it() -> None:
    changes = [case for case in _cases(1000) if case.document["operation"] != "CREATE"]
    assert changes
    for case in changes:
        assert as_sent(case) is case
        bodies = [case.document["object"], case.document.get("oldObject")]
        assert len({body["metadata"]["uid"] for body in bodies if body}) == 1


def test_operations_users_and_controllers_are_among_the_first() -> None:
    found = _cases(1000)
    assert {case.document["operation"] for case in found} == {"CREATE", "UPDATE", "DELETE"}
    assert any(case.is_background for case in found)
    kinds = {case.document["object"]["kind"] for case in found}
    assert kinds == {"Pod", *(kind.kind for kind in TEMPLATED)}
    namespaces = {case.document["object"]["metadata"]["namespace"] for case in found}
    assert any(name.startswith("kube-") for name in namespaces)


def test_values_around_a_bound_are_tried() -> None:
    limits = set()
    for case in _cases(1000):
        for container in case.document["object"]["spec"].get("containers", ()):
            limits.add(container.get("resources", {}).get("limits", {}).get("memory"))
    assert {"1Gi", "2Gi", "0Gi", "1Mi"} <= {str(one) for one in limits}


def test_requests_that_no_api_server_sends_come_to_an_end() -> None:
    tried: list[None] = []

    def is_over() -> bool:
        tried.append(None)
        return False

    cases = Cases(is_over)
    assert list(cases.of([_space(_NO_NAMESPACES, "No.Namespace")], "seed")) == []
    assert cases.left_out["invalid namespaces"] > 100
    assert len(tried) < 5_000


def test_requests_end_when_their_time_is_over() -> None:
    cases = Cases(lambda: True)
    assert list(cases.of([_space(_NO_NAMESPACES, "No.Namespace")], "seed")) == []
    assert cases.left_out.total() < 100


_CONDITIONS = _TEXTS["conditions"]


def _facets(rule: str) -> dict[str, Facet]:
    return {path_text(facet.path): facet for facet in _space(rule).facets}


def test_keys_of_objects_and_elements_of_lists_are_places() -> None:
    facets = _facets(_CONDITIONS)
    assert {"server": "x", "path": "/data"} in facets["object.spec.volumes[].nfs"].values
    assert "ALL" in facets["object.spec.containers[].securityContext.capabilities.drop[]"].values


def test_an_alternative_that_no_policy_names_is_tried() -> None:
    assert "object.spec.volumes[].awsElasticBlockStore" in _facets(_CONDITIONS)


def test_what_meets_a_precondition_is_known() -> None:
    facet = _facets(_CONDITIONS)["object.metadata.labels.tier"]
    assert facet.values[: facet.met] == ("gold",)
    assert facet.tried[:2] == ["gold", ""]


def test_an_alternative_takes_the_place_of_another() -> None:
    cases = islice(Cases().of([_space(_CONDITIONS)], "seed"), 600)
    volumes = [one for case in cases for one in case.document["object"]["spec"].get("volumes", ())]
    sources = [volume.keys() - {"name"} for volume in volumes]
    assert {"nfs"} in sources
    assert max(map(len, sources)) == 1


def test_fields_of_custom_kinds_have_the_types_that_are_assumed() -> None:
    kind = GroupVersionKind("example.com", "v1", "Thing")
    rule = """
      validate: {message: "no", pattern: {spec: {retries: ">=1"}}}
"""
    leaves = _leaves(rule, "[Thing]")
    (facet,) = (
        one
        for one in facets_of(leaves, kind, {"spec.retries": "int"})[0]
        if one.path[-1] == "retries"
    )
    assert {type(value) for value in facet.values if value is not ABSENT} == {int}


def test_no_kind_has_no_requests() -> None:
    assert list(Cases().of([], "seed")) == []


def test_equal_values_have_one_content() -> None:
    contents = Contents()
    first, second = {"a": [1, "1"], "b": {}}, {"b": {}, "a": [1, "1"]}
    assert contents.of(first) is contents.of(second)
    for other in ({"a": [True, "1"], "b": {}}, {"a": ["1", 1], "b": {}}, {"a": [1, "1"], "b": []}):
        assert contents.of(other) is not contents.of(first)


def test_what_is_known_is_forgotten_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 4)
    contents = Contents()
    for number in range(10):
        key = contents.of({"number": number})
        contents.refusals[key], contents.stored[key] = "", None
        assert len(contents.refusals) <= 5
        assert len(contents.stored) <= 5
    assert contents.of({"number": 9}) is key


_DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("apps/v1beta1", [_DEPLOYMENT._replace(version="v1beta1")]),
        ("apps/v1beta1/Deployment", [_DEPLOYMENT._replace(version="v1beta1")]),
        ("extensions/v1beta1/Ingress", [GroupVersionKind("extensions", "v1beta1", "Ingress")]),
        ("v1/Pod", [GroupVersionKind("", "v1", "Pod")]),
        ("Pod", [GroupVersionKind("", "v1", "Pod")]),
        ("apps/v1/Deployment", []),
        ("apps/v1beta1/Deploymentx", []),
        ("a/b/c", []),
        ("", []),
    ],
)
def test_kinds_that_a_policy_compares_with(text: str, kinds: list[GroupVersionKind]) -> None:
    assert compared_kinds([_DEPLOYMENT], [text]) == kinds


@pytest.mark.parametrize(
    "text", ["Deployment/scale", "apps/v1/Deployment/scale", "Deployment.scale"]
)
def test_subresources_however_they_are_written(text: str) -> None:
    (found,) = subresources_of([text])
    assert (found.name, found.whole, found.operation) == ("scale", _DEPLOYMENT, "UPDATE")


def test_subresources_of_any_kind_are_passed_over() -> None:
    assert not subresources_of(["*/*/Pod/eviction", "*/scale", "Pod"])


_KINDS = [
    _POD,
    *TEMPLATED,
    GroupVersionKind("", "v1", "Service"),
    GroupVersionKind("", "v1", "Namespace"),
    GroupVersionKind("", "v1", "ConfigMap"),
    GroupVersionKind("networking.k8s.io", "v1", "Ingress"),
    GroupVersionKind("networking.k8s.io", "v1", "NetworkPolicy"),
    GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    GroupVersionKind("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    GroupVersionKind("policy", "v1", "PodDisruptionBudget"),
    GroupVersionKind("example.com", "v1", "Thing"),
]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.kind)
def test_the_least_object_of_a_kind_is_stored(kind: GroupVersionKind) -> None:
    assert list(refusals(least_object(kind))) == []


@pytest.mark.parametrize("kind", list(TEMPLATED), ids=lambda kind: kind.kind)
def test_a_pod_in_a_controller_is_stored(kind: GroupVersionKind) -> None:
    assert list(refusals(as_controller(least_object(_POD), kind))) == []


def _pod(**spec: object) -> Body:
    pod = least_object(_POD)
    return {**pod, "spec": {**pod["spec"], **spec}}


_CONTAINER = {"name": "app", "image": "x"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (_pod(containers=[]), "missing required fields"),
        (_pod(containers=[{"name": "app"}]), "missing required fields"),
        (_pod(volumes=[{"name": "v", "secret": {"secretName": ""}}]), "missing required fields"),
        (_pod(volumes=[{"name": "v", "configMap": {}}]), "missing required fields"),
        (_pod(containers=[_CONTAINER, _CONTAINER]), "two elements of one name"),
        (_pod(containers=[_CONTAINER], initContainers=[_CONTAINER]), "two elements of one name"),
        (
            _pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
            "several fields of which one excludes the others",
        ),
        (_pod(hostNetwork="true"), "fields of another type"),
        (
            {**least_object(GroupVersionKind("", "v1", "Secret")), "data": {"a": 1}},
            "fields of another type",
        ),
        (_pod(hostNetwork=None), "null, which decoding drops"),
        (_pod(priority=True), "fields of another type"),
        (_pod(noSuchField=1), "fields that the kind does not have"),
        (_pod(restartPolicy="Sometimes"), "values outside a field's set"),
        (_pod(overhead={"cpu": "many"}), "invalid quantities"),
        (_pod(activeDeadlineSeconds=-1), "negative numbers"),
        ({**_pod(), "metadata": {"name": "Upper", "namespace": "x"}}, "invalid names"),
        (
            {**_pod(), "metadata": {"name": "", "generateName": "x", "namespace": "x"}},
            "invalid names",
        ),
        ({**_pod(), "metadata": {"name": "x"}}, "invalid namespaces"),
        (
            {**_pod(), "metadata": {"name": "x", "namespace": "x", "deletionTimestamp": {}}},
            "times of another type",
        ),
        (
            {**_pod(), "metadata": {"name": "x", "namespace": "x", "labels": {"a": "b/c"}}},
            "invalid labels",
        ),
    ],
)
def test_what_no_api_server_stores_is_refused(body: Body, reason: str) -> None:
    assert reason in list(refusals(body))


def test_pods_of_one_specification_get_the_defaults_that_each_of_them_has() -> None:
    term = {"labelSelector": {}, "topologyKey": "x", "matchLabelKeys": ["app"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    annotation = "container.apparmor.security.beta.kubernetes.io/app"
    contents = Contents()
    for spec in ({}, {"affinity": {"podAffinity": required}}):
        for metadata in (
            {},
            {"labels": {"app": "a"}},
            {"labels": {"app": "b"}},
            {"annotations": {annotation: "unconfined"}},
            {"annotations": {"kubernetes.io/config.mirror": "x"}},
        ):
            pod = _pod(**spec)
            body = {**pod, "metadata": {**pod["metadata"], **metadata}}
            controllers = (as_controller(body, kind) for kind in TEMPLATED)
            for written in (body, *controllers):
                stored = as_stored(Resource(written)).body
                assert with_defaults(written, contents) == stored
                assert with_defaults(stored, contents) is stored
