"""Verdicts on reviews, in the words of Kyverno's webhooks."""

import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.serve.admission.denials import plain_name
from chartkit.addons.serve.admission.judge import Judge, Verdict
from chartkit.addons.serve.admission.review import ReviewError, RoleBindings, parse_review
from chartkit.addons.serve.admission.selection import Served, Webhook
from chartkit.engine import Request
from chartkit.model import Body, Resource
from tests.addons.serve.admission.bodies import (
    AUDITED,
    CEL,
    LABELS,
    POD,
    TEAM,
    changed,
    policies,
    review,
)
from tests.addons.serve.admission.patching import patched
from tests.data import beside, from_table
from tests.objects import api_object

_TEXTS = beside(__file__)
CALL = _TEXTS["call"]
_DENIED = (
    "\n\nresource Pod/default/web was blocked due to the following policies \n\n"
    "require-team:\n  check-team: 'validation error: the label team: it is required. rule "
    "check-team failed at path /metadata/labels/'\n"
)


def judged(path: str, content: bytes, *texts: str, **served: Any) -> Verdict:
    """Return the verdict of policies at a path of the server."""
    judge = Judge(Served(policies(*texts), **served))
    found = judge.find(path)
    assert found is not None
    verdict = judge.judge(parse_review(content), *found)
    judge.audit(verdict, found[1])
    return verdict


def test_enforce_denies_in_kyvernos_words() -> None:
    answer = judged("/validate", review(), TEAM).answer
    assert not answer.allowed
    assert answer.message == _DENIED


def test_an_audit_beyond_its_deadline_adds_nothing() -> None:
    judge = Judge(Served(policies(TEAM, AUDITED)))
    found = judge.find("/validate")
    assert found is not None
    good = parse_review(review(changed(POD, labels={"team": "a"})))
    verdicts = [judge.judge(good, *found) for _ in range(12)]
    before = len(verdicts[0].evaluated)
    for each in verdicts:
        with pytest.raises(TimeoutError):
            judge.audit(each, found[1], deadline=-math.inf)
        assert len(each.evaluated) == before
    judge.audit(verdicts[0], found[1])
    assert [each.policy.policy.key for each in verdicts[0].evaluated][before:] == ["audit-team"]


def test_what_passes_is_allowed() -> None:
    body = changed(POD, labels={"team": "a"})
    answer = judged("/validate", review(body), TEAM).answer
    assert answer.allowed
    assert answer.message == ""


def test_a_default_replaces_a_call_that_cannot_be_made() -> None:
    """As in Kyverno's admission controller; without a default the rule is in error, and denies."""
    with_default = review(POD)
    assert judged("/validate", with_default, CALL).answer.allowed
    without = CALL.replace("default: {kind: none}", "jmesPath: kind")
    answer = judged("/validate", with_default, without).answer
    assert not answer.allowed
    assert "no cluster to ask" in answer.message


def test_audit_allows_and_keeps_the_result() -> None:
    verdict = judged("/validate", review(), AUDITED)
    assert verdict.answer.allowed
    said = [(each.policy, each.status.value) for one in verdict.evaluated for each in one.results]
    assert said == [("audit-team", "fail")]


def test_a_denied_object_has_no_audit_results() -> None:
    verdict = judged("/validate", review(), TEAM, AUDITED)
    names = {each.policy for one in verdict.evaluated for each in one.results}
    assert names == {"require-team"}


def test_each_failing_policy_is_named_in_order() -> None:
    other = TEAM.replace("require-team", "a-policy").replace("check-team", "x")
    message = judged("/validate", review(), TEAM, other).answer.message
    listed = yaml.safe_load(message.partition("policies \n\n")[2])
    assert [*listed] == ["a-policy", "require-team"]
    assert [*listed["a-policy"]] == ["x"]


def test_a_cel_policy_denies_in_kyvernos_words() -> None:
    body = {**POD, "spec": {"containers": [{"name": "main", "image": "nginx:latest"}]}}
    answer = judged("/vpol/no-latest", review(body), CEL).answer
    assert answer.message == "Policy no-latest failed: no image may be latest"


@from_table("actions", "allowed", "warnings")
def test_actions_of_cel_policies(actions: str, allowed: bool, warnings: int) -> None:
    body = {**POD, "spec": {"containers": [{"name": "main", "image": "nginx:latest"}]}}
    text = CEL.replace("[Deny]", actions)
    answer = judged("/validate", review(body), text).answer
    assert answer.allowed is allowed
    assert [*answer.warnings] == ["Policy no-latest failed: no image may be latest"] * warnings


def test_both_generations_are_in_one_denial() -> None:
    body = {**POD, "spec": {"containers": [{"name": "main", "image": "nginx:latest"}]}}
    message = judged("/validate", review(body), TEAM, CEL).answer.message
    assert message == f"{_DENIED}\nPolicy no-latest failed: no image may be latest"


def test_a_mutation_is_a_patch() -> None:
    answer = judged("/mutate", review(), LABELS).answer
    assert answer.allowed
    assert patched(POD, answer.patch)["metadata"]["labels"] == {"managed": "yes"}


def test_mutations_build_on_each_other() -> None:
    second = LABELS.replace("add-labels", "second").replace("managed", "again")
    answer = judged("/mutate", review(), LABELS, second).answer
    assert patched(POD, answer.patch)["metadata"]["labels"] == {"managed": "yes", "again": "yes"}


def test_an_object_that_is_as_it_should_be_has_no_patch() -> None:
    body = changed(POD, labels={"managed": "yes"})
    assert [*judged("/mutate", review(body), LABELS).answer.patch] == []


def test_a_deletion_is_not_mutated() -> None:
    content = review(operation="DELETE", object=None, oldObject=POD)
    assert [*judged("/mutate", content, LABELS).answer.patch] == []


_BROKEN = _TEXTS["broken"]


def test_a_mutation_that_fails_denies() -> None:
    answer = judged("/mutate", review(), _BROKEN.replace("FAILURE", "Fail"), LABELS).answer
    assert not answer.allowed
    start = "mutation policy broken error: failed to apply policy broken rules [replace: "
    assert answer.message.startswith(start)


def test_a_mutation_that_may_fail_leaves_the_others() -> None:
    answer = judged("/mutate", review(), _BROKEN.replace("FAILURE", "Ignore"), LABELS).answer
    assert answer.allowed
    assert patched(POD, answer.patch)["metadata"]["labels"] == {"managed": "yes"}


@from_table("path", "asked")
def test_a_path_names_its_policies(path: str, asked: set[str]) -> None:
    lax = TEAM.replace("require-team", "lax").replace(
        "  rules:", "  failurePolicy: Ignore\n  rules:"
    )
    found = Judge(Served(policies(TEAM, lax, CEL))).find(path)
    assert found is not None
    webhook, chosen = found
    assert webhook is Webhook.VALIDATING
    assert {each.policy.name for each in chosen.validating} == asked


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/x",
        "/validate/x",
        "/validate/fail/x",
        "/vpolx/a",
        "/xvpol/a",
        "/ivpol",
        "/" + "a" * 20_000,
    ],
)
def test_other_paths_name_none(path: str) -> None:
    assert Judge(Served(policies(TEAM))).find(path) is None


def test_roles_come_from_bindings() -> None:
    text = TEAM.replace("{kinds: [Pod]}}", "{kinds: [Pod]}, clusterRoles: [admin]}")
    text = text.replace("  rules:", "  background: false\n  rules:")
    binding: Body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "janes"},
        "subjects": [{"kind": "User", "name": "jane"}],
        "roleRef": {"kind": "ClusterRole", "name": "admin"},
    }
    assert judged("/validate", review(), text).answer.allowed
    roles = RoleBindings([Resource(binding)])
    assert not judged("/validate", review(), text, roles=roles).answer.allowed


def test_a_filtered_object_is_allowed() -> None:
    answer = judged("/validate", review(), TEAM, filtered=lambda _object, _sub: True).answer
    assert answer.allowed


def test_policies_that_are_off_at_admission_are_not_asked() -> None:
    text = TEAM.replace("  rules:", "  admission: false\n  rules:")
    assert judged("/validate", review(), text).answer.allowed


def test_a_scale_is_matched_by_the_kind_of_its_object() -> None:
    text = TEAM.replace("kinds: [Pod]", "kinds: [Deployment/scale]")
    scale: Body = api_object("autoscaling/v1", "Scale", "default/web", spec={"replicas": 3})
    resource = {"group": "apps", "version": "v1", "resource": "deployments"}
    content = review(
        scale, subResource="scale", resource=resource, operation="UPDATE", oldObject=scale
    )
    assert not judged("/validate", content, text).answer.allowed


def test_labels_of_namespaces_come_with_the_request() -> None:
    text = TEAM.replace(
        "{kinds: [Pod]}", "{kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}"
    )

    def request(resource: Resource) -> Request:
        return Request(resource, namespace_labels={"env": "prod"})

    assert judged("/validate", review(), text).answer.allowed
    assert not judged("/validate", review(), text, request=request).answer.allowed


def test_a_name_is_without_its_namespace() -> None:
    assert plain_name("team-a/policy") == "policy"
    assert plain_name("policy") == "policy"


_PLACES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.mark.slow
@given(st.data())
def test_no_review_breaks_the_judge(data: st.DataObject) -> None:
    whole = json.loads(review(dryRun=False, oldObject=POD, operation="UPDATE"))
    place: Any = whole
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(_PLACES)
            break
        place = inner
    content = json.dumps(whole).encode()
    for path in ("/validate", "/mutate"):
        found = _JUDGE.find(path)
        assert found is not None
        try:
            read = parse_review(content)
        except ReviewError:
            return
        verdict = _JUDGE.judge(read, *found)
        _JUDGE.audit(verdict, found[1])
        json.loads(verdict.answer.encoded(read.uid))


_JUDGE = Judge(Served(policies(TEAM, AUDITED, CEL, LABELS)))


_SHOWN = _TEXTS["shown"]


@from_table("query", "first", "later")
def test_expressions_see_the_whole_request_and_later_rules_int64(
    query: str, first: str, later: str
) -> None:
    body = {**POD, "spec": {**POD["spec"], "priority": 3}}
    verdict = judged(
        "/validate", review(body, name="web", dryRun=True), _SHOWN.replace("QUERY", query)
    )
    (found,) = verdict.evaluated
    assert [each.message for each in found.results] == [f"<{first}>", f"<{later}>"]


def test_expressions_see_what_is_deleted() -> None:
    text = _SHOWN.replace("QUERY", "[request.object.metadata.name, request.operation]")
    content = review(POD, operation="DELETE", object=None, oldObject=POD)
    (found,) = judged("/validate", content, text).evaluated
    assert [each.message for each in found.results] == ['<["web","DELETE"]>'] * 2


@pytest.mark.parametrize(
    ("old", "said"), [(None, "true team true null"), ({"a": "old"}, "true team false old")]
)
def test_a_namespace_is_in_itself_as_it_was(old: dict[str, str] | None, said: str) -> None:
    body: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    given: Body = {"operation": "CREATE" if old is None else "UPDATE", "dryRun": True}
    if old is not None:
        given["oldObject"] = changed(body, labels=old)
    content = review(body, namespace="team", **given)
    (found,) = judged("/validate", content, _TEXTS["namespace"]).evaluated
    assert [each.message for each in found.results] == [said]
