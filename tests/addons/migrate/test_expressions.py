"""Queries, conditions and patterns with variables: a rule and the expression that it becomes."""

from unittest.mock import Mock

import pytest

from chartkit.addons.migrate import conditions
from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.expressions.presence import asking_once
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.syntax import format_expression, read
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource
from tests.addons.migrate.conversions import converted, deny, one_line, same_result
from tests.data import from_table
from tests.objects import api_object

_IMAGE = "request.object.spec.containers[0].image"


def _pod(image: str = "a:1", **metadata: object) -> Body:
    containers = [{"name": "c", "image": image}]
    metadata = {"name": "p", "namespace": "default", **metadata}
    return api_object("v1", "Pod", metadata, spec={"containers": containers})


@pytest.mark.parametrize(
    ("key", "operator", "value", "expression"),
    [
        (
            "{{ regex_match('^v[0-9]', '{{request.object.metadata.labels.v || 'none'}}') }}",
            "Equals",
            "false",
            "(variables.metadata.?labels.?v.orValue('') != '' ? object.metadata.labels.v : 'none')"
            ".matches('^v[0-9]')",
        ),
        (
            "{{ request.object.metadata.labels.\\\"{{request.namespace}}\\\" || '' }}",
            "Equals",
            "a",
            "variables.metadata.?labels[?request.namespace].orValue('') != 'a'",
        ),
        (
            "{{ label_match(`{{request.object.metadata.labels}}`, `{{request.object.spec.nodeSelector}}`) }}",  # noqa: E501
            "Equals",
            "true",
            "!object.metadata.labels.all(label, label in object.spec.nodeSelector && "
            "object.spec.nodeSelector[label] == object.metadata.labels[label])",
        ),
        (
            "{{ label_match({team: 'a', tier: 'b'}, request.object.metadata.labels) }}",
            "Equals",
            "true",
            "object.metadata.labels.?team.orValue('') != 'a' || "
            "object.metadata.labels.?tier.orValue('') != 'b'",
        ),
        (
            "{{ request.userInfo.username }}",
            "AnyNotIn",
            "\"{{ request.userInfo.groups[].join('-', [@, '*']) }}\"",
            "!(has(request.userInfo.groups) && !request.userInfo.?groups.orValue([])"
            ".exists(group, request.userInfo.username.startsWith(group + '-')))",
        ),
        (
            "{{ serviceAccountName }}",
            "Equals",
            "'*?'",
            "parseServiceAccount(request.userInfo.username).Name == '' || "
            "isQuantity(parseServiceAccount(request.userInfo.username).Name)",
        ),
        (
            "{{ request.object.spec.activeDeadlineSeconds }}",
            "DurationGreaterThan",
            "1m",
            "object.spec.activeDeadlineSeconds <= 60",
        ),
    ],
)
def test_conditions(key: str, operator: str, value: str, expression: str) -> None:
    found = converted(deny(key, operator, value), "Pod")
    assert found.reason == ""
    assert found.expressions == [expression]


@pytest.mark.parametrize(
    ("name", "result"),
    [("a-1", "refused"), ("a-99", "refused"), ("a-100", "allowed"), ("a-x", "allowed")],
)
@pytest.mark.parametrize(("operator", "value"), [("AnyIn", "1-99"), ("LessThanOrEquals", "99")])
def test_numbers_that_texts_are_read_as(operator: str, value: str, name: str, result: str) -> None:
    key = "{{ to_number(split(request.object.metadata.name, '-')[1]) }}"
    rule = deny(key, operator, value)
    assert same_result(rule, _pod(name=name)) == result
    assert same_result(rule, _pod(name="a")) == "allowed"


def test_a_number_is_in_no_order_with_a_size() -> None:
    key = "{{ length(request.object.spec.volumes || `[]`) }}"
    rule = f'{{key: "{key}", operator: %s, value: %s}}'
    either = f"{rule % ('GreaterThan', '1Gi')}, {rule % ('GreaterThan', '3')}"
    deny_any = f"validate: {{message: m, deny: {{conditions: {{any: [{either}]}}}}}}"
    assert converted(deny_any, "Pod").expressions == [
        "object.spec.?volumes.orValue([]).size() <= 3"
    ]


@from_table("text", "result")
def test_texts_are_compared_as_durations(text: str, result: str) -> None:
    rule = deny("{{ request.object.metadata.annotations.lifetime || '0s' }}", "GreaterThan", "8h")
    assert same_result(rule, _pod(annotations={"lifetime": text})) == result


@from_table("image", "result")
def test_texts_that_annotations_give_may_have_wildcards(image: str, result: str) -> None:
    key = f"{{{{ {_IMAGE} }}}}"
    rule = deny(key, "NotEquals", "'{{ request.object.metadata.annotations.allowed }}'")
    assert same_result(rule, _pod(image, annotations={"allowed": "ghcr.io/a/*"})) == result


@pytest.mark.parametrize(("name", "result"), [("a", "allowed"), ("b", "refused")])
def test_variables_in_patterns(name: str, result: str) -> None:
    rule = """
validate:
  message: m
  pattern: {spec: {serviceAccountName: '{{request.object.metadata.name}}'}}
"""
    body = _pod(name=name)
    body["spec"]["serviceAccountName"] = "a"
    assert converted(rule, "Pod").expressions == [
        "object.spec.?serviceAccountName.orValue(null) == object.metadata.name"
    ]
    assert same_result(rule, body) == result


@from_table("pattern", "reason")
def test_variables_in_patterns_that_are_refused(pattern: str, reason: str) -> None:
    rule = f"validate: {{message: m, pattern: {{spec: {{nodeName: {pattern}}}}}}}"
    assert reason in converted(rule, "Pod").reason


def test_no_condition_hides_the_error_of_one_before_it() -> None:
    rule = """
validate:
  message: m
  deny:
    conditions:
      any:
        - {key: '{{request.object.metadata.labels.a}}', operator: Equals, value: x}
        - {key: '{{request.object.metadata.name}}', operator: Equals, value: y}
"""
    found = converted(rule, "Pod")
    assert not any("is not an error" in change for change in found.changes)
    assert found.expressions == [
        "object.metadata.labels.a == 'x' ? false : object.metadata.name != 'y'"
    ]


def test_conditions_that_an_alias_repeats_are_converted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translated = Mock(side_effect=term_of)
    monkeypatch.setattr(conditions, "term_of", translated)
    key = "a{{ request.object.metadata.name }}" * 119
    rule = deny(f"&key '{key}'", "Equals", "b").replace('"', "")
    repeated = rule.replace("[{", "[&one {").replace("}]", "}" + ", *one" * 1000 + "]")
    assert converted(repeated).expressions == converted(rule).expressions
    assert translated.call_count < 20


def test_a_text_of_more_variables_than_cel_nests() -> None:
    key = "a{{ request.object.metadata.name }}" * 121
    assert converted(deny(key, "Equals", "b")).reason == "a text of more than 120 variables"


def test_lists_of_several_lists_pass_over_those_that_are_not_there() -> None:
    query = "contains(request.object.rules[].[verbs, resources][][] || `[]`, '*')"
    rule = deny(f"{{{{ {query} }}}}", "Equals", "true")
    (expression,) = converted(rule, "Role").expressions
    assert "exists(item, item != null && '*' in item)" in expression
    for rules in ([{"verbs": ["get"]}], [{"verbs": ["*"]}], [{"verbs": [], "resources": ["*"]}]):
        role = api_object("rbac.authorization.k8s.io/v1", "Role", "default/r", rules=rules)
        assert same_result(rule, role) == ("refused" if "*" in str(rules) else "allowed")


def test_types_within_a_list_with_a_default_are_assumed() -> None:
    query = "(request.object.spec.needs || `[]`)[? contains(values || `[]`, 'a')] | length(@)"
    found = converted(deny(f"{{{{ {query} }}}}", "GreaterThan", "0"), "example.com/v1/Widget")
    assert "spec.needs[].values is a list" in str(found.changes)


def test_messages_of_conditions_follow_the_message_of_the_rule() -> None:
    rule = """
    validate:
      message: No.
      deny:
        conditions:
          any:
            - {key: "{{ request.object.metadata.name }}", operator: Equals, value: a, message: Not a}
            - {key: "{{ request.object.metadata.name }}", operator: Equals, value: b, message: "Not b {{request.operation}}"}
          all:
            - {key: "{{ request.namespace }}", operator: Equals, value: c, message: not in c}
    """  # noqa: E501
    found = converted(rule)
    assert found.reason == ""
    (validation,) = found.spec["validations"]
    assert " ".join(validation["messageExpression"].split()) == (
        "object.metadata.name == 'a' ? 'No.; Not a; not in c' : "
        "'No.; Not b ' + request.operation + '; not in c'"
    )


def test_a_message_of_conditions_that_all_must_hold_is_one_text() -> None:
    condition = "{key: '{{ request.namespace }}', operator: Equals, value: c, message: not in c}"
    rule = f"validate: {{message: Never, deny: {{conditions: {{all: [{condition}]}}}}}}"
    assert converted(rule).spec["validations"][0]["message"] == "Never; not in c"


def test_what_a_message_names_and_an_object_lacks_is_blank() -> None:
    name, user = "metadata.name", "spec.securityContext.runAsUser"
    text = f"{{{{request.object.{name}}}}} runs as {{{{request.object.{user}}}}}."
    rule = f"validate: {{message: '{text}', pattern: {{spec: {{hostNetwork: false}}}}}}"
    body = _pod()
    del body["metadata"]["name"]
    body["spec"]["hostNetwork"] = True
    new = compile_cel_policy(Resource(converted(rule, "Pod").documents[0], Location("policy.yaml")))
    (result,) = evaluate([new], Request(Resource(body, Location("pod.yaml"))))
    assert result.message == " runs as ."


def test_a_foreach_over_a_list_that_cannot_be_found_does_nothing() -> None:
    deny_all = "deny: {conditions: {all: [{key: '{{ element }}', operator: Equals, value: a}]}}"
    rule = f"validate: {{foreach: [{{list: 'request.object.spec.list[0].values', {deny_all}}}]}}"
    (expression,) = converted(rule, "example.com/v1/Widget").expressions
    assert expression.startswith("object.?spec.?list[?0].?values.orValue([]).all(")


def test_a_list_of_null_is_no_error() -> None:
    query = "contains(to_array(request.object.rules[].verbs[]), '*')"
    found = converted(deny(f"{{{{ {query} }}}}", "Equals", "true"), "Role")
    assert found.expressions == ["!variables.rules.exists(rule, '*' in rule.verbs)"]
    assert found.variables == {"rules": "object.?rules.orValue(null) == null ? [] : object.rules"}


@from_table("written", "once")
def test_what_must_be_there_is_asked_once(written: str, once: str) -> None:
    made = asking_once(read(written, ENVIRONMENTS["vpol"]))
    assert one_line(format_expression(made)) == (once or written)


def test_an_object_in_quotes_is_that_of_the_controller() -> None:
    key = """{{ request.\\"object\\".metadata.labels.team || '' }}"""
    found = converted(deny(key, "Equals", "a"), "Pod")
    (expression,) = found.expressions
    assert expression == "dyn(object).metadata.?labels.?team.orValue('') != 'a'"
    forms = [Resource(body) for body in found.documents]
    proof = prove(found.legacy, forms, options=proof_options(convert(found.legacy), 1.0))
    assert proof.equal, proof.differences
    both = key.replace("|| ''", "|| request.object.metadata.labels.team")
    assert "next to" in converted(deny(both, "Equals", "a"), "Pod").reason


def test_loops_within_loops() -> None:
    rule = """
validate:
  message: m
  foreach:
    - list: request.object.spec.containers
      foreach:
        - list: element.ports
          preconditions: {all: [{key: "{{ element0.name }}", operator: NotEquals, value: b}]}
          deny:
            conditions: {any: [{key: "{{ element.containerPort }}", operator: LessThan, value: 9}]}
"""
    assert converted(rule, "Pod").expressions == [
        "object.spec.containers.all(container, container.?ports.orValue([]).all(port, "
        "container.name == 'b' || !(port.containerPort < 9)))"
    ]
    for name, port, result in (("a", 8, "refused"), ("b", 8, "allowed"), ("a", 9, "allowed")):
        container = {"name": name, "image": "a", "ports": [{"containerPort": port}]}
        body = api_object(
            "v1", "Pod", "d/p", spec={"containers": [{"name": "c", "image": "a"}, container]}
        )
        assert same_result(rule, body) == result
