"""Queries that choose among values, join lists, and read what a test before says is there."""

import pytest

from chartkit.addons.migrate.differences import (
    DELETIONS,
    EMPTY_SEARCHES,
    KIND_IN_SCANS,
    REFUSES_ALL,
)
from chartkit.model import Body
from tests.addons.migrate.conversions import converted, deny, proved, same_result
from tests.data import from_table
from tests.objects import api_object

_NOTE = "request.object.metadata.annotations.note"


def _map(note: str, **data: str) -> Body:
    annotations = {"annotations": {"note": note}} if note else {}
    return api_object("v1", "ConfigMap", {"name": "c", "namespace": "d", **annotations}, data=data)


@from_table("query", "value", "expression")
def test_choices(query: str, value: str, expression: str) -> None:
    found = converted(deny(f"{{{{ {query} }}}}", "Equals", value))
    assert found.reason == ""
    assert found.expressions == [expression]


@from_table("query", "operator", "value")
def test_both_forms_of_choices_agree(query: str, operator: str, value: str) -> None:
    rule = deny(f"{{{{ {query} }}}}", operator, value)
    for body in (_map(""), _map("a"), _map("b", a="x"), _map("", a="x", b="y"), _map("x", b="z")):
        same_result(rule, body)


@from_table("query", "operator", "value", "expression")
def test_words_that_mean_more(query: str, operator: str, value: str, expression: str) -> None:
    rule = deny(f"{{{{ {query} }}}}", operator, f"'{value}'")
    assert converted(rule).expressions == [expression]
    for body in (_map(""), _map("", a="x"), _map("", a="y"), _map("", a="")):
        same_result(rule, body)


def test_not_in_holds_of_no_text_but_a_list_in_json() -> None:
    note = f"\"{{{{ {_NOTE} || '' }}}}\""
    rule = deny("{{ request.object.data.a || '' }}", "NotIn", note)
    for text in ("x", "", '["x"]', '["x", "y"]', "[]"):
        for given in ("x", "z"):
            same_result(rule, _map(text, a=given))
    assert same_result(deny("{{ request.namespace }}", "NotIn", "x"), _map("")) == "allowed"


def test_list_of_lists_is_left_unless_it_is_flattened() -> None:
    containers = "request.object.spec.containers"
    left = converted(deny(f"{{{{ length({containers}[*].ports[*]) }}}}", "Equals", "1"), "Pod")
    assert left.reason.startswith("a list of lists, in length(")
    flat = converted(deny(f"{{{{ length({containers}[*].ports[*][]) }}}}", "Equals", "1"), "Pod")
    assert flat.expressions == [
        "object.spec.containers.map(container, container.?ports.orValue([])).flatten().size() != 1"
    ]


def test_template_of_a_controller_may_have_no_metadata() -> None:
    rule = deny("{{ request.object.metadata.annotations.note || 'none' }}", "Equals", "a")
    found = converted(rule, "Pod")
    assert found.variables == {"metadata": "has(object.metadata) ? object.metadata : {}"}
    job: Body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "d"},
        "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
    }
    pod = {**job, "apiVersion": "v1", "kind": "Pod", "spec": job["spec"]["template"]["spec"]}
    assert same_result(rule, pod) == "allowed"
    annotated = {**pod, "metadata": {**pod["metadata"], "annotations": {"note": "a"}}}
    assert same_result(rule, annotated) == "refused"


def test_rule_that_refuses_everything_converts_and_says_so() -> None:
    probes = "{containers: [{livenessProbe: '?*'}]}"
    rule = converted(f"validate: {{message: m, pattern: {{spec: {probes}}}}}", "Pod")
    assert rule.expressions == ["object.spec.containers.all(container, false)"]
    assert REFUSES_ALL in rule.changes


def test_rule_that_refuses_nothing_converts_and_says_so() -> None:
    found = converted(deny("{{ to_upper('a') }}", "Equals", "b"))
    assert found.expressions == ["true"]
    assert any(each.startswith("it refuses nothing") for each in found.changes)
    # What its conditions cannot be evaluated of, it refuses.
    reason = converted(deny("{{ request.object.data.a }}", "DurationGreaterThan", "'3'")).reason
    assert reason == "its conditions can never hold"


@pytest.mark.parametrize(
    "test", ["[request.object.data.a]", "request.operation", "join('/', ['a'])"]
)
def test_a_test_that_is_always_true_chooses_the_other_value(test: str) -> None:
    rule = deny(f"{{{{ {test} && request.object.immutable }}}}", "Equals", "true")
    bodies = [{**_map(""), "immutable": each} for each in (True, False)]
    assert [same_result(rule, each) for each in (*bodies, _map(""))] == [
        "refused",
        "allowed",
        "refused",
    ]


@from_table("resources", "result")
def test_absent_size_is_zero_where_its_object_is_there(resources: Body, result: str) -> None:
    rule = """
    validate:
      message: m
      foreach:
      - list: request.object.spec.containers
        pattern: {resources: {limits: {cpu: "{{element.resources.requests.cpu}}"}}}
    """
    pod: Body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {"containers": [{"name": "a", "image": "a:1", "resources": resources}]},
    }
    assert same_result(rule, pod) == result


def test_loops_of_keys_and_of_values_do_not_meet() -> None:
    key, value = "request.object.data.*", "request.object.metadata.annotations.*"
    rule = deny(f"{{{{ {key} }}}}", "AnyIn", f'"{{{{ {value} }}}}"')
    for body, result in ((_map("x", a="y"), "allowed"), (_map("x", a="y", b="x"), "refused")):
        assert same_result(rule, body) == result


def test_a_foreach_of_another_list_judges_deletions() -> None:
    each = "{key: '{{ element }}', operator: Equals, value: admins}"
    rule = (
        "validate: {message: m, foreach: [{list: 'request.userInfo.groups', "
        f"deny: {{conditions: {{all: [{each}]}}}}}}]}}"
    )
    assert DELETIONS in converted(rule).changes
    assert DELETIONS not in converted(rule.replace("userInfo.groups", "object.data.*")).changes


def test_a_search_of_an_empty_list_is_no_error() -> None:
    url = "/apis/networking.k8s.io/v1/ingresses"
    value = "{{ rules[?host=='{{ element.host }}'].http.paths[].path }}"
    condition = f'{{key: "{{{{ element.http.paths[].path }}}}", operator: AnyIn, value: "{value}"}}'
    rule = (
        f"context: [{{name: rules, apiCall: {{urlPath: {url}, jmesPath: 'items[].spec.rules[]'}}}}]"
        "\nvalidate: {message: m, foreach: [{list: 'request.object.spec.rules', "
        f"deny: {{conditions: {{all: [{condition}]}}}}}}]}}"
    )
    assert EMPTY_SEARCHES in converted(rule, "Ingress").changes
    written = rule.replace("{{ element.host }}", "a")
    assert EMPTY_SEARCHES not in converted(written, "Ingress").changes


def test_a_loop_over_the_list_of_one_kind_or_another() -> None:
    lists = "request.object.spec.containers || request.object.spec.template.spec.containers"
    found = proved(
        f"""
        match: {{any: [{{resources: {{kinds: [Pod, Deployment]}}}}]}}
        validate:
          message: m
          foreach: [{{list: "{lists}", pattern: {{image: 'a/*', =(tty): false}}}}]
        """
    )
    assert "object.?spec.?template.?spec.?containers" in found.expressions[0]


def test_requests_name_the_kind_of_an_object() -> None:
    kind = "{key: '{{ request.kind.kind }}', operator: Equals, value: ConfigMap}"
    rule = f"preconditions: {{all: [{kind}]}}\n" + deny(
        "{{ request.object.data.a }}", "Equals", "x"
    )
    assert KIND_IN_SCANS in proved(rule).changes
