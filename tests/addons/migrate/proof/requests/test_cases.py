"""The requests of a proof, as they are made."""

from itertools import islice

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.proof.leaves.cel import cel_leaves
from chartkit.addons.migrate.proof.leaves.leaf import Leaf
from chartkit.addons.migrate.proof.leaves.legacy import legacy_leaves
from chartkit.addons.migrate.proof.leaves.paths import ABSENT, path_text
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import Cases, Space, as_sent, base_case
from chartkit.addons.migrate.proof.requests.facets import Facet, facets_of
from chartkit.addons.migrate.proof.requests.schema import TEMPLATED, least_object
from chartkit.addons.migrate.proof.requests.storable import refusals
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Resource
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
