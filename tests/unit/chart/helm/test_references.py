"""References of a chart's schema that lead out of it are refused before Helm loads it."""

from __future__ import annotations

import json

import pytest

from chartkit.chart.helm.model import ChartError
from chartkit.chart.helm.references import check_references
from chartkit.chart.render import render_chart
from chartkit.errors import RenderError
from chartkit.model import Json
from tests.unit.chart.helm.conftest import Write
from tests.unit.chart.helm.test_chart_folder import SUB, archive

_OUT = "http://127.0.0.1:9/x"
_DRAFT7 = "http://json-schema.org/draft-07/schema#"
_DRAFT4 = "http://json-schema.org/draft-04/schema#"


def allowed(schema: Json) -> None:
    check_references(json.dumps(schema).encode(), "values.schema.json")


def refusal(schema: Json) -> str:
    with pytest.raises(ChartError) as caught:
        allowed(schema)
    assert caught.value.file == "values.schema.json"
    return caught.value.message


URLS = [
    _OUT,
    "https://example.com/a.json#/definitions/b",
    "file:///etc/passwd",
    "/etc/passwd",
    "other.json",
    "../x",
    "//example.com/x",
    "urn:example:a",
    "HTTP://example.com",
    "\thttp://example.com",
    "http://[::1",
    "ftp://example.com/x",
    "http://json-schema.org/draft-03/schema#",
]


@pytest.mark.parametrize("url", URLS)
def test_a_reference_that_leads_out(url: str) -> None:
    assert refusal({"$ref": url}) == f"its $ref leads out of the schema, to {url}"


PLACES: dict[str, Json] = {
    "below properties": {"properties": {"a": {"$ref": _OUT}}},
    "a property called $ref": {"properties": {"$ref": {"$ref": _OUT}}},
    "below items": {"items": [{"$ref": _OUT}]},
    "below a combination": {"allOf": [{"if": {"$ref": _OUT}}]},
    "below definitions": {"definitions": {"a": {"$ref": _OUT}}},
    "below dependencies": {"dependencies": {"a": {"$ref": _OUT}}},
    "below $defs": {"$defs": {"a": {"not": {"$ref": _OUT}}}},
    "an unknown keyword": {"x-mine": {"$ref": _OUT}},
    "dynamic": {"$dynamicRef": _OUT},
    "recursive": {"$recursiveRef": _OUT},
    "the dialect": {"$schema": _OUT},
    "the dialect of a part": {"properties": {"a": {"$schema": _OUT, "$id": "a"}}},
    "another base": {"$id": "http://127.0.0.1:9/", "$ref": "x"},
    "another base below": {"$defs": {"a": {"$id": "http://127.0.0.1:9/", "items": {"$ref": "x"}}}},
    "an old base": {"$schema": _DRAFT4, "id": "http://127.0.0.1:9/", "items": {"$ref": "x"}},
    "an id that is none in this draft": {
        "$schema": _DRAFT7,
        "definitions": {"a": {"id": _OUT}},
        "items": {"$ref": _OUT},
    },
    "an id that a reference hides": {
        "$schema": _DRAFT7,
        "definitions": {"a": {"$id": _OUT, "$ref": "#"}},
        "items": {"$ref": _OUT},
    },
    "data that a reference makes a schema": {"$ref": "#/default", "default": {"$ref": _OUT}},
    "an id in data": {"default": {"$id": _OUT}, "$ref": _OUT},
}


@pytest.mark.parametrize("place", PLACES)
def test_wherever_it_is(place: str) -> None:
    assert "leads out of the schema" in refusal(PLACES[place])


FINE: dict[str, Json] = {
    "no schema at all": True,
    "a fragment": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    "an anchor": {"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}},
    "itself by name": {"properties": {"a": {"$ref": "values.schema.json#/properties"}}},
    "its own id": {"$id": "https://e.com/s.json", "items": {"$ref": "https://e.com/s.json#"}},
    "a part by its id": {"$defs": {"a": {"$id": "part"}}, "$ref": "part"},
    "a part by its old id": {
        "$schema": _DRAFT4,
        "definitions": {"a": {"id": "http://e.com/a"}},
        "items": {"$ref": "http://e.com/a"},
    },
    "a property called $ref": {"properties": {"$ref": {"type": "string"}, "$id": {}}},
    "data": {"default": {"$ref": _OUT}, "enum": [{"$ref": _OUT, "$schema": _OUT}]},
    "a dialect": {"$schema": _DRAFT7},
    "a dialect with https": {"$schema": "https://json-schema.org/draft-07/schema#", "$ref": "#"},
    "a meta-schema": {"$ref": _DRAFT7},
    "nothing there": {"$ref": "#/nothing"},
    "a circle": {"$ref": "values.schema.json"},
}


@pytest.mark.parametrize("place", FINE)
def test_what_stays_inside(place: str) -> None:
    allowed(FINE[place])


@pytest.mark.parametrize(
    "text",
    [
        b'{"\\u0024ref": "http://127.0.0.1:9/x"}',
        b'\xef\xbb\xbf{"$ref": "http://127.0.0.1:9/x"}',
        b'{"$ref": "#", "$ref": "http://127.0.0.1:9/x"}',
        b'{"title": "\xff", "$ref": "http://127.0.0.1:9/x"}',
    ],
)
def test_however_it_is_written(text: bytes) -> None:
    with pytest.raises(ChartError, match="leads out"):
        check_references(text, "values.schema.json")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[" * 100_000, b'{"a": 1} {}', b"\x00", b'{"maximum": 1' + b"0" * 5000]
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ChartError):
        check_references(text, "values.schema.json")


@pytest.mark.parametrize("value", [5, None, [], "x", {"$ref": 5}])
@pytest.mark.parametrize("key", ["properties", "$defs", "items", "$id", "id", "$anchor", "allOf"])
def test_keywords_of_wrong_types_are_no_bugs(key: str, value: Json) -> None:
    with pytest.raises(ChartError):
        allowed({key: value, "items": {"$ref": _OUT}} | {key: value, "not": {"$ref": _OUT}})


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("file", ["values.schema.json", "charts/sub/values.schema.json"])
def test_both_helms_refuse_with_file_and_url(chart: Write, file: str) -> None:
    files = {f"charts/{name}": content for name, content in SUB.items()}
    folder = chart({**files, file: '{"$ref": "http://127.0.0.1:9/x"}'})
    with pytest.raises(RenderError) as caught:
        render_chart(folder)
    assert str(caught.value.location) == str(folder / file)
    assert "http://127.0.0.1:9/x" in caught.value.message


def test_packed_subcharts_are_looked_into(chart: Write) -> None:
    inner = {**SUB, "sub/values.schema.json": b'{"$ref": "http://127.0.0.1:9/x"}'}
    outer = {**SUB, "sub/charts/inner.tgz": archive(inner)}
    for content in (archive(inner), archive(outer)):
        with pytest.raises(RenderError, match=r"leads out of the schema, to http://127\.0\.0\.1"):
            render_chart(chart({"charts/sub.tgz": content}))


def test_a_file_of_that_name_elsewhere_is_no_schema(chart: Write) -> None:
    render_chart(chart({"files/values.schema.json": '{"$ref": "http://127.0.0.1:9/x"}'}))
