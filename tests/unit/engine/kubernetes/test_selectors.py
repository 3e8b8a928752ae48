import pytest

from chartkit.engine.kubernetes.selectors import (
    LabelSelector,
    Requirement,
    compile_selector,
    key_problem,
    selector_problem,
    value_problem,
)


def _fits(selector: LabelSelector, **labels: str) -> bool:
    return compile_selector(selector)(labels)


def test_every_label_must_be_there() -> None:
    selector = LabelSelector({"app": "web", "tier": "fe"})
    assert _fits(selector, app="web", tier="fe", more="x")
    assert not _fits(selector, app="web")


def test_an_empty_selector_fits_everything() -> None:
    assert _fits(LabelSelector())


@pytest.mark.parametrize(
    ("operator", "values", "with_label", "without"),
    [
        ("In", ("web",), True, False),
        ("In", ("db",), False, False),
        ("NotIn", ("web",), False, True),
        ("NotIn", ("db",), True, True),
        ("Exists", (), True, False),
        ("DoesNotExist", (), False, True),
    ],
)
def test_selectors_expressions(
    operator: str, values: tuple[str, ...], with_label: bool, without: bool
) -> None:
    selector = LabelSelector(expressions=(Requirement("app", operator, values),))
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
