"""What decided the result of a rule: its kind of check, its words, its line and its field."""

from typing import Any

import pytest

from chartkit.documents.reader import read_text, resources
from chartkit.engine import Request, User, as_submitted, compile_any, evaluate, explain
from chartkit.engine.policies import PolicyAttachments, read_exceptions
from chartkit.engine.request import Operation
from chartkit.engine.why import MISSING, Asked, RuleDecision, value_text
from chartkit.model import Resource
from tests.data import beside, from_table

_TEXTS = beside(__file__)
POD = _TEXTS["pod"]
DEPLOYMENT = _TEXTS["deployment"]
HEAD = _TEXTS["head"]
ANY = "      match: {any: [{resources: {kinds: [Pod]}}]}\n"
NO_HOST = _TEXTS["no-host"]


def only(text: str) -> Resource:
    (resource,) = resources(read_text(text, "p.yaml"))
    return resource


def decisions(
    rule: str, objects: str = POD, exceptions: str = "", **settings: Any
) -> list[RuleDecision]:
    """Return the decisions of a policy with one rule, and see that the results stay the same."""
    around = PolicyAttachments()
    if exceptions:
        around = read_exceptions(resources(read_text(exceptions, "e.yaml")))
    text = rule if rule.lstrip().startswith("apiVersion") else HEAD + rule
    policy: Any = compile_any(only(text), around)
    request = Request(as_submitted(only(objects)), **settings)
    found, results = explain([policy], request)
    assert results == evaluate([policy], request)
    assert [each.status for each in found if each.status] == [each.status for each in results]
    return found


def decided(found: list[RuleDecision]) -> tuple[str, str | None, Asked, str, str, str | None]:
    (one,) = found
    decision = one.decision
    status = None if one.status is None else str(one.status)
    place = str(decision.location).removesuffix(".yaml")
    return one.rule, status, decision.asked, decision.text, place, decision.pointer


def _match(filters: str) -> str:
    return f"      match: {{any: [{{resources: {{{filters}}}}}]}}\n{NO_HOST}"


@from_table("filters", "text", "pointer")
def test_the_check_of_match_that_does_not_hold(
    filters: str, text: str, pointer: str | None
) -> None:
    found = decisions(_match(filters), namespace_labels={"env": "dev"})
    rule, status, asked, said, place, field = decided(found)
    assert (rule, status, asked, said, field) == ("r", None, Asked.MATCH, text, pointer)
    assert place.startswith("p.yaml:9:")


def test_annotations_of_secrets_are_not_shown() -> None:
    metadata = "metadata: {name: s, annotations: {applied: aHVudGVy}}"
    (rule,) = decisions(
        _match("kinds: [Secret], annotations: {applied: other}"),
        f"apiVersion: v1\nkind: Secret\n{metadata}",
    )
    assert rule.decision.text == "the annotations do not match"
    assert "aHVudGVy" not in str(rule)


def test_of_several_filters_the_nearest_is_named() -> None:
    filters = "{resources: {kinds: [Service]}}, {resources: {kinds: [Pod], names: [db]}}"
    (one,) = decisions(f"      match: {{any: [{filters}]}}\n{NO_HOST}")
    assert one.decision.text == "none of 2 filters matches; nearest: name web is not db"
    assert [part.text for part in one.decision.parts] == [
        "kind Pod is not Service",
        "name web is not db",
    ]


def test_all_filters_must_hold() -> None:
    filters = "{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod], namespaces: [kube-*]}}"
    found = decisions(f"      match: {{all: [{filters}]}}\n{NO_HOST}")
    assert decided(found)[3] == "namespace shop is not kube-*"


def test_users() -> None:
    rule = (
        f"      match: {{any: [{{resources: {{kinds: [Pod]}}, clusterRoles: [dev]}}]}}\n{NO_HOST}"
    )
    found = decisions(rule, user=User("ann", cluster_roles=("ops",)))
    assert decided(found)[3] == "user ann is not dev"
    assert decisions(rule)[0].status == "fail"


def test_the_filter_that_excludes() -> None:
    exclude = "      exclude: {any: [{resources: {kinds: [Pod], namespaces: ['sh*']}}]}\n"
    found = decisions(ANY + exclude + NO_HOST)
    assert decided(found) == (
        "r",
        None,
        Asked.EXCLUDE,
        "excluded: namespace shop matches sh*",
        "p.yaml:10:50",
        "/metadata/namespace",
    )


def test_the_pattern_and_what_is_there() -> None:
    assert decided(decisions(ANY + NO_HOST)) == (
        "r",
        "fail",
        Asked.PATTERN,
        "spec.hostNetwork is true; the pattern wants false",
        "p.yaml:14:13",
        "/spec/hostNetwork",
    )


def test_optional_parts_that_the_object_lacks() -> None:
    (one,) = decisions(ANY + NO_HOST.replace("hostNetwork", "hostNetwrk"))
    assert one.decision.text == "the pattern holds; optional, and missing: spec.hostNetwrk"
    (pattern,) = one.decision.parts
    (part,) = pattern.parts
    assert (part.text, str(part.location), part.pointer) == (
        "spec.hostNetwrk is missing, which =( ) allows",
        "p.yaml:14:13",
        "/spec/hostNetwrk",
    )


@pytest.mark.parametrize("name", ["r", "r" * 60])
def test_only_the_form_is_named_where_there_is_one(name: str) -> None:
    exclude = "      exclude: {any: [{resources: {namespaces: [shop]}}]}\n"
    for excluding, text in (("", "spec.template.spec.hostNetwork is true"), (exclude, "excluded")):
        policy = HEAD.replace("name: r", f"name: {name}") + ANY + excluding + NO_HOST
        (rule,) = decisions(policy, DEPLOYMENT)
        assert rule.rule == f"autogen-{name}"[:63]
        assert rule.decision.text.startswith(text)


def test_the_form_for_pod_controllers_at_the_line_of_the_rule() -> None:
    assert decided(decisions(ANY + NO_HOST, DEPLOYMENT)) == (
        "autogen-r",
        "fail",
        Asked.PATTERN,
        "spec.template.spec.hostNetwork is true; the pattern wants false",
        "p.yaml:14:13",
        "/spec/template/spec/hostNetwork",
    )


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        (
            HEAD + _match("kinds: [Pod], names: [web]"),
            "a filter of the policy names names",
            "p.yaml:9:",
        ),
        (
            HEAD.replace(
                "name: p}",
                "name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}",
            )
            + ANY
            + NO_HOST,
            "pod-policies.kyverno.io/autogen-controllers is none",
            "p.yaml:4:",
        ),
    ],
)
def test_why_there_is_no_form(text: str, cause: str, line: str) -> None:
    (one,) = decisions(text, DEPLOYMENT)
    assert one.decision.asked is Asked.AUTOGEN
    assert one.decision.text.endswith(f"no form for pod controllers: {cause}")
    assert str(one.decision.location).startswith(line)


PRECONDITIONS = _TEXTS["preconditions"]


def test_both_sides_of_a_precondition() -> None:
    found = decisions(ANY + PRECONDITIONS + NO_HOST)
    assert decided(found) == (
        "r",
        "skip",
        Asked.PRECONDITIONS,
        "preconditions: {{ request.object.metadata.labels.app }} is web: "
        'In ["api", "db"] does not hold',
        "p.yaml:13:13",
        "/metadata/labels/app",
    )
    parts = found[0].decision.parts
    assert [(part.holds, part.value) for part in parts] == [(True, "CREATE"), (False, "web")]


def test_the_answers_of_any_pattern() -> None:
    patterns = """      validate:
        anyPattern:
          - spec: {hostNetwork: false}
          - metadata: {labels: {net: host}}
"""
    (one,) = decisions(ANY + patterns)
    assert one.decision.asked is Asked.ANY_PATTERN
    assert [(part.text, str(part.location), part.pointer) for part in one.decision.parts] == [
        ("spec.hostNetwork is true; the pattern wants false", "p.yaml:12:20", "/spec/hostNetwork"),
        (
            "metadata.labels.net is missing; the pattern wants host",
            "p.yaml:13:33",
            "/metadata/labels/net",
        ),
    ]


def test_each_element_of_a_loop() -> None:
    (one,) = decisions(ANY + _TEXTS["loop"])
    decision = one.decision
    assert (one.status, decision.asked, decision.pointer) == (
        "fail",
        Asked.FOREACH,
        "/spec/containers/1/image",
    )
    assert decision.text == "{{ element.image }} is envoy:1.2: Equals envoy:* holds"
    first, second = decision.parts
    assert first.text == "element 0 of request.object.spec.containers: passed over"
    assert first.parts[0].pointer == "/spec/containers/0/name"
    assert [part.asked for part in second.parts] == [Asked.PRECONDITIONS, Asked.CONDITION]


def test_a_context_entry_that_cannot_be_had() -> None:
    rule = """      context: [{name: x, configMap: {name: c, namespace: ns}}]
      validate: {deny: {conditions: {all: [{key: "{{ x.data.a }}", operator: Equals, value: b}]}}}
"""
    (one,) = decisions(ANY + rule)
    assert (one.status, one.decision.asked) == ("error", Asked.CONTEXT)
    assert one.decision.text.startswith("context entry x: ")
    assert str(one.decision.location) == "p.yaml:10:7"


EXCEPTION = _TEXTS["exception"]


@pytest.mark.parametrize(
    ("name", "status", "asked", "text"),
    [
        ("web", "skip", Asked.EXCEPTION, "exception ns/e applies: name is web"),
        ("other", "fail", Asked.PATTERN, "exception ns/e does not apply: name web is not other"),
    ],
)
def test_exceptions(name: str, status: str, asked: Asked, text: str) -> None:
    (one,) = decisions(ANY + NO_HOST, exceptions=EXCEPTION.format(name=name))
    assert (one.status, one.decision.asked) == (status, asked)
    said = [part for part in one.decision.walk() if part.asked is Asked.EXCEPTION]
    assert [(part.text, str(part.location)) for part in said] == [(text, "e.yaml:7:44")]


def test_controls_of_pod_security() -> None:
    rule = """      validate:
        podSecurity: {level: baseline, version: latest}
"""
    (one,) = decisions(ANY + rule)
    assert one.decision.text == "Host Namespaces: host namespaces (hostNetwork=true)"
    assert one.decision.pointer == "/spec/hostNetwork"
    assert [part.asked for part in one.decision.parts] == [Asked.CONTROL]


def test_a_deletion_and_a_policy_that_applies_one_rule() -> None:
    (one,) = decisions(ANY + NO_HOST, operation=Operation.DELETE)
    assert one.decision.text == "the rule says nothing of an object that is deleted"
    second = (ANY + NO_HOST).replace("      match", "    - name: s\n      match", 1)
    text = HEAD.replace("spec:", "spec:\n  applyRules: One") + ANY + NO_HOST + second
    first, other = decisions(text)
    assert (first.status, other.status) == ("fail", None)
    assert "applyRules: One" in other.decision.text


@from_table("patch", "status", "text")
def test_why_a_patch_does_not_apply(patch: str, status: str, text: str) -> None:
    (one,) = decisions(ANY + f"      mutate: {{patchStrategicMerge: {patch}}}\n")
    assert (one.status, one.decision.asked, one.decision.text) == (status, Asked.RULE, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MISSING, "missing"),
        ("nginx:1", "nginx:1"),
        ("", '""'),
        ("a b", '"a b"'),
        ("*:latest", "*:latest"),
        (None, "null"),
        ([1, "a"], '[1, "a"]'),
        ("x" * 99, "x" * 60 + "…"),
    ],
)
def test_values_as_text(value: Any, text: str) -> None:
    assert value_text(value) == text
