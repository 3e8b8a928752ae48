"""Kinds, schemas and selectors of Kubernetes."""

from typing import Any

import pytest

from chartkit.engine.kubernetes.definitions import Problem, find_problems, show_path
from chartkit.engine.kubernetes.kinds import (
    GroupVersionKind,
    in_namespace,
    is_cluster_scoped,
    kind_of,
    parse_api_version,
    resource_name,
)
from chartkit.engine.kubernetes.selectors import (
    LabelSelector,
    Requirement,
    compile_selector,
    key_problem,
    selector_problem,
    value_problem,
)
from chartkit.model import Json, Resource
from chartkit.schemas.compact import parse_type
from tests.data import from_table


def test_api_version_parts() -> None:
    assert parse_api_version("apps/v1") == ("apps", "v1")
    assert parse_api_version("v1") == ("", "v1")


@from_table("kind", "name")
def test_resource_names(kind: str, name: str) -> None:
    assert resource_name(kind) == name


def test_an_object_without_a_namespace_goes_to_default() -> None:
    given = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    assert in_namespace(given).namespace == "default"
    assert given.namespace == "", "the document that came in is never changed"


def test_cluster_scoped_objects_have_no_namespace() -> None:
    given = Resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    assert in_namespace(given) is given
    assert is_cluster_scoped(kind_of(given))


def test_custom_kinds_count_as_namespaced() -> None:
    assert not is_cluster_scoped(GroupVersionKind("example.com", "v1", "Namespace"))


def test_metadata_of_the_wrong_type_is_left_alone() -> None:
    given = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": "x"})
    assert in_namespace(given) is given


def _problems(schema: Any, value: Json) -> list[Problem]:
    return list(find_problems(parse_type(schema, "t"), value))


@from_table("schema", "value", "problem")
def test_wrong_values(schema: Any, value: Json, problem: str) -> None:
    assert list(find_problems(parse_type(schema, "t"), value, ("x",))) == [(("x",), problem)]


def test_every_problem_is_found_with_its_place() -> None:
    schema = {"a": "list string", "b": "map bool", "c!": "any"}
    problems = _problems(schema, {"a": ["x", 1], "b": {"k": 1}, "c": None, "d": 2})
    assert [show_path(path) for path, _ in problems] == ["c", "a[1]", "b.k", "d"]


def test_null_counts_as_missing() -> None:
    assert _problems({"a!": "string"}, {"a": None}) == [(("a",), "Required value")]


def test_null_under_an_unknown_key_is_an_unknown_field() -> None:
    assert _problems({}, {"a": None}) == [(("a",), "value provided for unknown field")]
    assert _problems({"$open": True}, {"a": None}) == []


def test_fields_that_may_not_stand_together() -> None:
    schema = {"a": "any", "b": "any", "$notBoth": "a b"}
    assert _problems(schema, {"a": 1}) == []
    assert _problems(schema, {"a": 1, "b": 1}) == [((), "a and b may not stand together")]


def test_one_of_some_fields() -> None:
    schema = {"a": "any", "b": "any", "$oneOf": "a b"}
    assert _problems(schema, {"a": 1}) == []
    wanted = [((), "must have exactly one of a, b")]
    assert _problems(schema, {}) == _problems(schema, {"a": 1, "b": 1}) == wanted


def test_an_open_ended_object_takes_other_fields() -> None:
    assert _problems({"$open": True}, {"x": 1}) == []


def _fits(selector: LabelSelector, **labels: str) -> bool:
    return compile_selector(selector)(labels)


def test_every_label_must_be_there() -> None:
    selector = LabelSelector({"app": "web", "tier": "fe"})
    assert _fits(selector, app="web", tier="fe", more="x")
    assert not _fits(selector, app="web")


def test_an_empty_selector_fits_everything() -> None:
    assert _fits(LabelSelector())


@from_table("operator", "values", "with_label", "without")
def test_selectors_expressions(
    operator: str, values: list[str], with_label: bool, without: bool
) -> None:
    selector = LabelSelector(expressions=(Requirement("app", operator, tuple(values)),))
    assert _fits(selector, app="web") is with_label
    assert _fits(selector) is without


def test_wildcards_in_labels() -> None:
    assert _fits(LabelSelector({"app*": "w?b"}), **{"app.x": "web"})
    assert not _fits(LabelSelector({"app*": "w?b"}), app="db")
    assert not _fits(LabelSelector({"app*": "w?b"}))


def test_without_a_fitting_label_wildcards_are_zeros() -> None:
    assert _fits(LabelSelector({"a*": "x?"}), a0="x0")


def test_a_selector_that_kubernetes_refuses_fits_nothing() -> None:
    selector = LabelSelector(expressions=(Requirement("app", "Sometimes"),))
    assert not _fits(selector, app="web")


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (LabelSelector({"app": "web"}), ""),
        (LabelSelector({"a b": "x"}), 'key: Invalid value: "a b": name part must consist'),
        (LabelSelector({"app": "w b"}), 'values[0][app]: Invalid value: "w b": a valid label'),
        (
            LabelSelector(expressions=(Requirement("app", "In"),)),
            "values: Invalid value: null: for 'in', 'notin' operators",
        ),
        (
            LabelSelector(expressions=(Requirement("app", "Exists", ("x",)),)),
            'values: Invalid value: ["x"]: values set must be empty',
        ),
        (
            LabelSelector(expressions=(Requirement("app", "Sometimes"),)),
            '"Sometimes" is not a valid label selector operator',
        ),
    ],
)
def test_problems_in_kubernetes_words(selector: LabelSelector, text: str) -> None:
    problem = selector_problem(selector)
    assert problem.startswith(text)
    assert bool(problem) is bool(text)


def test_label_names_and_values() -> None:
    assert not key_problem("example.com/app")
    assert key_problem("/app") == ["prefix part must be non-empty"]
    assert key_problem("Example/app")[0].startswith("prefix part a lowercase RFC 1123 subdomain")
    assert key_problem("a/b/c")
    assert "name part must be non-empty" in key_problem("x/")
    assert key_problem("a" * 64) == ["name part must be no more than 63 characters"]
    assert not value_problem("")
    assert value_problem("x" * 64) == ["must be no more than 63 characters"]
