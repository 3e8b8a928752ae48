"""What Kyverno refuses in context entries."""

import pytest

from chartkit.engine.context.entries import check_entries
from chartkit.model import Body


@pytest.mark.parametrize(
    "entry",
    [
        {"variable": {"value": 0}},
        {"variable": {"jmesPath": "a", "default": "d"}},
        {"variable": {"jmesPath": "{{ a }} b"}},
        {"configMap": {"name": "c", "namespace": "n"}},
        {"apiCall": {"urlPath": "/a"}},
        {"globalReference": {"name": "g", "jmesPath": "a"}},
        {"imageRegistry": {"reference": "{{ image }}"}},
    ],
)
def test_entries_check_sound(entry: Body) -> None:
    assert check_entries([{"name": "x", **entry}]) is None


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({}, "a name is required for context entries"),
        (
            {"name": "request.x", "variable": {"value": 1}},
            "entry name request.x is invalid as it conflicts with a pre-defined variable request",
        ),
        (
            {"name": "x"},
            "exactly one of configMap or apiCall or imageRegistry or variable is required for "
            "context entries",
        ),
        (
            {"name": "x", "variable": {"default": 1}},
            "a variable must define a value or a jmesPath expression",
        ),
        (
            {"name": "x", "variable": {"value": 1, "default": 1}},
            "a variable must define a default value only when a jmesPath expression is defined",
        ),
        (
            {"name": "x", "variable": {"jmesPath": "bad("}},
            "failed to parse JMESPath bad(: SyntaxError: Incomplete expression",
        ),
        ({"name": "x", "configMap": {"namespace": "n"}}, "a name is required for configMap "),
        ({"name": "x", "configMap": {"name": "n"}}, "a namespace is required for configMap "),
        (
            {"name": "x", "apiCall": {"urlPath": "/a", "service": {}}},
            "a URLPath cannot be used for service API calls",
        ),
        ({"name": "x", "globalReference": {"jmesPath": "a"}}, "a name is required for globalRef"),
        ({"name": "x", "imageRegistry": {"jmesPath": "a"}}, "a ref is required for imageRegistry"),
        (
            {"name": "x", "imageRegistry": {"reference": "A:b:c"}},
            "bad image: A:b:c: invalid reference format",
        ),
    ],
)
def test_entries_check_faults(entry: Body, fault: str) -> None:
    found = check_entries([{"name": "first", "variable": {"value": 1}}, entry])
    assert found is not None
    assert found.startswith(fault)


def test_cel_takes_no_entries() -> None:
    assert check_entries([], cel=True) is None
    fault = check_entries([{"name": "x"}], cel=True)
    assert fault == "context variables are not supported for CEL expressions in validate rules"
