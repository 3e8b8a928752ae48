"""References of a chart's schema that lead out of it are refused before Helm loads it."""

import json

import pytest

from chartkit.errors import RenderError
from chartkit.helm.model import ChartError
from chartkit.helm.render import render_chart
from chartkit.helm.staging import check_references
from chartkit.model import Json
from tests.data import from_table, tables
from tests.errors import error_of
from tests.unit.helm.conftest import Write
from tests.unit.helm.test_links import SUB, archive

_OUT = "http://127.0.0.1:9/x"
_DRAFT7 = "http://json-schema.org/draft-07/schema#"
_DRAFT4 = "http://json-schema.org/draft-04/schema#"


def allowed(schema: Json) -> list[str]:
    return check_references(json.dumps(schema).encode(), "values.schema.json")


def refusal(schema: Json) -> str:
    error = error_of(ChartError, allowed, schema)
    assert error.file == "values.schema.json"
    return error.message


@from_table("url")
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
    "a URN for the dialect of a part": {"items": {"$schema": "urn:example:a", "$id": "a"}},
    "an id that counts once": {
        "x-mine": {"$id": "a/b.json", "$ref": "c.json"},
        "$defs": {"a": {"$id": "a/a/c.json"}},
        "$ref": "#/x-mine",
    },
    "bases that are not there": {
        "x-mine": {"a": {"$id": "p/q.json", "not": {"$ref": "#/x-other"}}},
        "x-other": {"$ref": "s.json"},
    },
    "an id in data": {"default": {"$id": _OUT}, "$ref": _OUT},
}


@pytest.mark.parametrize("place", PLACES)
def test_wherever_it_is(place: str) -> None:
    assert "leads out of the schema" in refusal(PLACES[place])


FINE: dict[str, Json] = {
    "a URN that is there": {"$defs": {"a": {"$id": "urn:e:a"}}, "$ref": "urn:e:a"},
    "a URN for itself": {"$id": "urn:e:a", "$ref": "#/$defs/a", "$defs": {"a": {}}},
    "a part by its id, next to another": {
        "$id": "https://e.com/root.json",
        "$defs": {"a": {"$id": "a/x.json", "$ref": "y.json"}, "b": {"$id": "a/y.json"}},
        "$ref": "a/x.json",
    },
    "a part of a part by its anchor": {
        "$id": "https://e.com/s/root.json",
        "$defs": {"a": {"$id": "b.json", "$defs": {"c": {"$anchor": "d"}}}},
        "$ref": "b.json#d",
    },
    "a part of another draft": {
        "$defs": {"a": {"$schema": _DRAFT7, "$id": "b", "definitions": {"c": {"$id": "d"}}}},
        "$ref": "d",
    },
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
    assert allowed(FINE[place]) == []


UNRESOLVED: dict[str, Json] = tables(__file__)["unresolved"]


@pytest.mark.parametrize("place", UNRESOLVED)
def test_what_a_urn_names_is_looked_for_nowhere(place: str) -> None:
    (found,) = allowed(UNRESOLVED[place])
    assert found.lower().startswith("urn:")


def test_a_urn_hides_nothing_else() -> None:
    for schema in (
        {"$schema": "urn:e:a", "$ref": _OUT},
        {"$ref": "urn:e:a", "not": {"$ref": _OUT}},
    ):
        assert refusal(schema) == f"its $ref leads out of the schema, to {_OUT}"


@pytest.mark.parametrize("place", UNRESOLVED)
def test_helm_lets_a_urn_pass_with_a_warning(chart: Write, backend: str, place: str) -> None:
    folder = chart({"values.schema.json": json.dumps(UNRESOLVED[place])})
    if backend == "helm3_program":
        with pytest.raises(RenderError, match=r"(?i)urn:"):
            render_chart(folder)
        return
    for _ in range(2):
        (warning,) = render_chart(folder).warnings
        assert warning.message.startswith("Helm warns: values.schema.json refers to ")
        assert warning.message.endswith(", which is not resolved: any value is taken there")


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
    error = error_of(RenderError, render_chart, folder)
    assert str(error.location) == str(folder / file)
    assert "http://127.0.0.1:9/x" in error.message


def test_packed_subcharts_are_looked_into(chart: Write) -> None:
    inner = {**SUB, "sub/values.schema.json": b'{"$ref": "http://127.0.0.1:9/x"}'}
    outer = {**SUB, "sub/charts/inner.tgz": archive(inner)}
    for content in (archive(inner), archive(outer)):
        with pytest.raises(RenderError, match=r"leads out of the schema, to http://127\.0\.0\.1"):
            render_chart(chart({"charts/sub.tgz": content}))


def test_a_file_of_that_name_elsewhere_is_no_schema(chart: Write) -> None:
    render_chart(chart({"files/values.schema.json": '{"$ref": "http://127.0.0.1:9/x"}'}))
