"""The quick answer never calls a value right that `jsonschema` refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chartkit.schemas import fits as module
from chartkit.schemas.fits import fits

ROOT = Path(__file__).parents[3]
NAMES = st.sampled_from(["a", "b", "name", "x-1"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.0, 1.0, 1.5]),
    st.sampled_from(["", "a", "b", "name", "true"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "integer", "number"])
REFERENCES = st.sampled_from(["#/definitions/a", "#/definitions/b", "#", "#/definitions/none"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    schemas = st.dictionaries(NAMES, inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    sizes = st.integers(0, 3)
    optional: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "pattern": st.sampled_from(["^a", "e$", "^$"]),
        "properties": schemas,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "1$"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "required": st.lists(NAMES, max_size=2),
        "items": inner,
        "prefixItems": several,
        "uniqueItems": st.booleans(),
        "minimum": st.integers(-1, 2),
        "exclusiveMinimum": st.integers(-1, 2),
        "maximum": st.integers(-1, 2),
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": REFERENCES,
        "format": st.just("email"),
        "description": st.just("text"),
    }
    for name in ("Length", "Items", "Properties"):
        optional |= {f"min{name}": sizes, f"max{name}": sizes}
    return st.fixed_dictionaries({}, optional=optional)


SCHEMAS = st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=6)


def without_errors(value: Any, schema: Any, ignore: frozenset[str]) -> bool:
    errors = Draft202012Validator(schema).iter_errors(value)
    return not any(each.validator not in ignore for each in errors)


@pytest.mark.slow
@given(keywords(SCHEMAS), SCHEMAS, SCHEMAS, VALUES, st.sampled_from([(), ("required",)]))
def test_what_fits_has_no_errors(
    body: Any, first: Any, second: Any, value: Any, ignored: tuple[str, ...]
) -> None:
    schema = {**body, "definitions": {"a": first, "b": second}}
    ignore = frozenset(ignored)

    if fits(value, schema, ignore):
        assert without_errors(value, schema, ignore)


@pytest.mark.parametrize("chart", ["kyverno", "kyverno-policies"])
def test_defaults_of_a_chart_fit_without_jsonschema(chart: str) -> None:
    from chartkit.documents.reader import read_file

    folder = ROOT / "charts" / chart
    schema = json.loads((folder / "values.schema.json").read_text("utf-8"))
    values = read_file(folder / "values.yaml")[0].body

    assert fits(values, schema, frozenset({"required"}))
    assert not fits({**values, "unknown": 1}, schema, frozenset({"required"}))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"required": 1}, {}),
        ({"properties": {"a": 1}}, {"a": 1}),
        ({"pattern": "("}, "a"),
        ({"$ref": "#/none"}, 1),
        ({"$ref": "https://example.org/schema"}, 1),
        ({"$ref": "#"}, 1),
        ({"contains": {"const": 1}}, [1]),
        ({"enum": [[1]]}, [1]),
    ],
)
def test_what_is_out_of_the_ordinary_is_left_to_jsonschema(schema: Any, value: Any) -> None:
    assert not fits(value, schema)


def test_every_keyword_of_the_draft_is_known() -> None:
    known = module._UNHANDLED.union(module._KEYWORDS, {"format"})

    assert not set(Draft202012Validator.VALIDATORS) - known
