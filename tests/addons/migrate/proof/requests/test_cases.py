"""The requests of a proof, as they are made."""

from __future__ import annotations

from itertools import islice

from chartkit.addons.migrate.proof.leaves.legacy import legacy_leaves
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import Cases, Space, as_sent, base_case
from chartkit.addons.migrate.proof.requests.facets import facets_of
from chartkit.addons.migrate.proof.requests.schema import TEMPLATED, least_object
from chartkit.addons.migrate.proof.requests.storable import refusals
from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from tests.addons.migrate.proof.policies import legacy

_POD = GroupVersionKind("", "v1", "Pod")
_RULE = """
      exclude:
        any:
          - resources:
              namespaces: ["kube-*"]
              operations: [DELETE]
      validate:
        message: "no"
        pattern:
          metadata:
            labels:
              team: "?*"
          spec:
            =(hostNetwork): "false"
            containers:
              - resources:
                  limits:
                    memory: "<=1Gi"
"""

_NO_NAMESPACES = """
      validate:
        message: "no"
        pattern:
          spec:
            =(hostNetwork): "false"
"""


def _space(rule: str = _RULE, namespace: str = "default") -> Space:
    leaves = list(legacy_leaves(read_policy(legacy(rule))))
    facets, unknown = facets_of(leaves, _POD)
    assert unknown == set()
    body = least_object(_POD)
    body["metadata"]["namespace"] = namespace
    return Space(_POD, (base_case(body, "given"),), tuple(facets), tuple(TEMPLATED))


def _cases(count: int) -> list[Case]:
    return list(islice(Cases().of([_space()], "seed"), count))


def test_each_request_is_made_once_and_an_api_server_may_send_it() -> None:
    found = _cases(1500)
    assert len({repr(case.document) for case in found}) == 1500
    for case in found:
        assert list(refusals(case.document["object"])) == []
        assert ("oldObject" in case.document) is (case.document["operation"] == "UPDATE")


def test_what_is_changed_or_deleted_is_as_an_api_server_sends_it() -> None:
    changes = [case for case in _cases(1500) if case.document["operation"] != "CREATE"]
    assert changes
    for case in changes:
        assert as_sent(case) is case
        bodies = [case.document["object"], case.document.get("oldObject")]
        assert len({body["metadata"]["uid"] for body in bodies if body}) == 1


def test_operations_users_and_controllers_are_among_the_first() -> None:
    found = _cases(1500)
    assert {case.document["operation"] for case in found} == {"CREATE", "UPDATE", "DELETE"}
    assert any(case.is_background for case in found)
    kinds = {case.document["object"]["kind"] for case in found}
    assert kinds == {"Pod", *(kind.kind for kind in TEMPLATED)}
    namespaces = {case.document["object"]["metadata"]["namespace"] for case in found}
    assert any(name.startswith("kube-") for name in namespaces)


def test_values_around_a_bound_are_tried() -> None:
    limits = set()
    for case in _cases(1500):
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
