"""Random values within the engine chart's schema: they render, lint, and give real objects."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from chartkit.charts.engine.chart import catalogue
from chartkit.charts.engine.values import Section, Value, value_schema, value_types
from chartkit.documents.reader import parse_yaml
from chartkit.helm.chart_values import merge
from chartkit.helm.render import lint_chart
from chartkit.model import Body, Json, Severity
from tests.draws import draws
from tests.engine_chart import CRD, KUBE_VERSION, folder, objects, plan
from tests.kubernetes_types import problems

_LINTER = ThreadPoolExecutor(max_workers=1)
_KEYS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)
_LIMIT = 2.0**31


def _plain(text: str) -> bool:
    return "{{" not in text


_TEXTS = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=20)


@cache
def _leaves() -> list[tuple[tuple[str, ...], Body]]:
    """Every value's path and JSON Schema, but for the release, of which the templates take few."""
    top = catalogue()
    types = value_types(top)
    found = ((path, value_schema(value, types)) for path, value in _values(top, ()))
    return [(path, schema) for path, schema in found if path != ("kyvernoVersion",)]


def _values(section: Section, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Value]]:
    for key, entry in section.entries.items():
        if isinstance(entry, Value):
            yield (*path, key), entry
        else:
            yield from _values(entry, (*path, key))


def _drawn(schema: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    """Values that a schema of ours allows."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", ["string"])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return st.one_of([_of_kind(kind, schema) for kind in kinds])


def _of_kind(kind: str, schema: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return st.lists(_drawn(schema["items"]), max_size=2)
    if kind == "string":
        return _text(schema)
    low, high = schema.get("minimum"), schema.get("maximum")
    simple: dict[str, st.SearchStrategy[Json]] = {
        "boolean": st.booleans(),
        "null": st.none(),
        "integer": st.integers(low, high),
        "number": st.floats(low, _LIMIT, allow_nan=False, allow_infinity=False),
    }
    return simple[kind]


def _text(schema: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    if "pattern" in schema:
        pattern = schema["pattern"].partition("|\\{\\{")[0]
        ascii_text = st.characters(codec="ascii")
        return st.from_regex(pattern, fullmatch=True, alphabet=ascii_text).filter(_plain)
    low, high = schema.get("minLength", 0), schema.get("maxLength", 20)
    return st.text(min_size=low, max_size=high).filter(_plain)


def _object(schema: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    fields = {name: _drawn(field) for name, field in schema.get("properties", {}).items()}
    if not fields:
        inner = schema.get("additionalProperties")
        values = _drawn(inner) if isinstance(inner, Mapping) else _TEXTS.filter(_plain)
        return st.dictionaries(_KEYS, values, max_size=2)
    needed = {name: fields[name] for name in schema.get("required", ())}
    optional = {name: each for name, each in fields.items() if name not in needed}
    least = schema.get("minProperties", 0)
    chosen = st.lists(st.sampled_from(sorted(optional)), min_size=least, max_size=2, unique=True)
    if not optional:
        return st.fixed_dictionaries(needed)
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries({**needed, **{name: optional[name] for name in names}})
    )


@st.composite
def _engine_values(draw: st.DrawFn) -> Body:
    leaves = _leaves()
    chosen = draw(st.lists(st.integers(0, len(leaves) - 1), min_size=8, max_size=22, unique=True))
    values: Body = {"crds": {"install": draw(st.sampled_from([False] * 9 + [True]))}}
    for index in chosen:
        path, schema = leaves[index]
        value = draw(_drawn(schema))
        for key in reversed(path):
            value = {key: value}
        values = merge(values, value)
    return values


@cache
def _schema() -> Draft7Validator:
    return Draft7Validator(json.loads(plan().files["values.schema.json"]))


@cache
def _defaults() -> Body:
    body: Body = parse_yaml(plan().values["values.yaml"])
    return body


@cache
def _judged(text: str) -> tuple[str, ...]:
    return tuple(problems(json.loads(text)))


@pytest.mark.slow
@settings(draws(100), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(_engine_values().filter(lambda values: _schema().is_valid(_coalesced(_defaults(), values))))
def test_values_within_the_schema_give_real_objects(values: Body) -> None:
    linting = _LINTER.submit(lint_chart, folder(), [values], kube_version=KUBE_VERSION)
    wrong = {
        key: _judged(json.dumps(body, sort_keys=True))
        for key, body in objects(values).items()
        if key[0] != CRD
    }
    assert {key: each for key, each in wrong.items() if each} == {}
    assert [each for each in linting.result() if each.severity is Severity.ERROR] == []


def _coalesced(defaults: Body, values: Body) -> Body:
    """The values that the schema judges: null takes a default away."""
    merged = dict(defaults)
    for key, value in values.items():
        below = merged.get(key)
        if value is None and below is not None:
            merged.pop(key)
        elif isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _coalesced(below, value)
        else:
            merged[key] = value
    return merged
