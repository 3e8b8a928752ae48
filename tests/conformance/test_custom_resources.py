"""Custom resources are judged as Kubernetes' own validation judges them."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from chartkit.documents.reader import parse_yaml
from chartkit.model import Body, Json, Resource, Status
from chartkit.scan.custom_resources.definitions import read_definitions
from chartkit.scan.custom_resources.formats import TESTS
from chartkit.scan.custom_resources.results import CustomResources
from tests.conformance.definitions import build_judge
from tests.data import tables
from tests.objects import api_object

pytestmark = pytest.mark.slow

_TABLES = tables(__file__)
SCHEMA: str = _TABLES["schema"]


def definition_of(schema: Body) -> Body:
    """Return a CustomResourceDefinition of Widgets with a schema."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "kind": "Widget",
                "plural": "widgets",
                "singular": "widget",
                "listKind": "WidgetList",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _object(spec: Json) -> Body:
    return api_object("example.com/v1", "Widget", "default/one", spec=spec)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Go program that judges as the API server does."""
    return build_judge(tmp_path_factory.mktemp("judge"))


def _expected(judge: Path, definition: Body, objects: list[Body]) -> list[list[str]]:
    asked = json.dumps({"definitions": [definition], "objects": objects})
    done = subprocess.run([judge], input=asked, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["definitions"] == {"widgets.example.com": []}
    return [sorted(each) for each in answer["objects"]]


def _found(definition: Body, objects: list[Body]) -> list[list[str]]:
    known = CustomResources(read_definitions([Resource(definition)]))
    assert not known.definitions.faults
    found = []
    for each in objects:
        results = known.results(Resource(each))
        texts = [one.message for one in results if one.status is Status.FAIL]
        found.append(sorted(text.removeprefix("strict decoding error: ") for text in texts))
    return found


def test_custom_resources_are_judged_as_by_kubernetes(judge: Path) -> None:
    """The same errors, in the same words but for alternatives."""
    definition = definition_of(parse_yaml(SCHEMA))
    objects = [_object(spec) for spec in _TABLES["specs"]]
    expected = _expected(judge, definition, objects)
    found = _found(definition, objects)
    assert sum(map(bool, expected)) > 35
    for body, ours, theirs in zip(objects, found, expected, strict=True):
        _require_alike(ours, theirs, json.dumps(body["spec"]))


def _require_alike(ours: list[str], theirs: list[str], about: str) -> None:
    assert bool(ours) == bool(theirs), about
    if not any("must validate" in text or "factor MultipleOf" in text for text in theirs):
        # A text may break several limits, of which Kubernetes names one.
        assert set(theirs) <= set(ours), about


_VALUES: tuple[Json, ...] = (
    *(None, True, 0, 1, 2, -3, 7, 2.5, 0.1, "", "a", "ab", "abc", "12", "A"),
    *([], [1], ["a", "a"], [1, 1, 2], [[1]], {}, {"a": 1}, {"a": "b", "c": None}),
)


def _random_schema(chance: random.Random, depth: int) -> Body:
    kind = chance.choice(["string", "integer", "number", "boolean", "array", "object", "mixed"])
    if depth == 0 and kind in ("array", "object"):
        kind = "string"
    if kind == "mixed":
        return {"x-kubernetes-int-or-string": True}
    schema: Body = {"type": kind}
    if chance.random() < 0.2:
        schema["nullable"] = True
    if kind == "array":
        schema["items"] = _random_schema(chance, depth - 1)
    if kind == "object" and chance.random() < 0.3:
        schema["additionalProperties"] = _random_schema(chance, depth - 1)
    elif kind == "object":
        schema["properties"] = {key: _random_schema(chance, depth - 1) for key in "ab"}
        schema["required"] = chance.choice([["a"], ["a", "b"]])
    schema |= _random_limits(chance, kind)
    for key in ("anyOf", "oneOf", "allOf"):
        if chance.random() < 0.15:
            schema[key] = [_random_limits(chance, kind) for _ in range(2)]
    if chance.random() < 0.1:
        schema["not"] = _random_limits(chance, kind)
    return schema


_LIMITS: dict[str, dict[str, tuple[Json, ...]]] = {
    "string": {"minLength": (1, 2), "maxLength": (1, 2), "pattern": ("^a", "b$"), "enum": (["a"],)},
    "integer": {"minimum": (0, 2), "maximum": (1, 6), "multipleOf": (2,), "enum": ([1, 7],)},
    "number": {"minimum": (0.5, 2), "maximum": (1.5, 6), "multipleOf": (0.5,)},
    "boolean": {"enum": ([True],)},
    "array": {"minItems": (1, 2), "maxItems": (1, 2)},
    "object": {"minProperties": (1, 2), "maxProperties": (1, 2)},
}


def _random_limits(chance: random.Random, kind: str) -> Body:
    limits = _LIMITS[kind]
    return {key: chance.choice(limits[key]) for key in limits if chance.random() < 0.3}


def _random_value(chance: random.Random, depth: int) -> Json:
    if depth and chance.random() < 0.6:
        if chance.random() < 0.5:
            return {key: _random_value(chance, depth - 1) for key in "abc" if chance.random() < 0.6}
        return [_random_value(chance, depth - 1) for _ in range(chance.randrange(3))]
    return chance.choice(_VALUES)


def test_random_schemas_judge_as_by_kubernetes(judge: Path) -> None:
    """Many schemas with many values: the same errors."""
    chance = random.Random(7)
    properties = {f"p{number}": _random_schema(chance, 2) for number in range(150)}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    objects = [_object({name: _random_value(chance, 2)}) for name in properties for _ in range(20)]
    definition = definition_of(schema)
    expected = _expected(judge, definition, objects)
    found = _found(definition, objects)
    for body, ours, theirs in zip(objects, found, expected, strict=True):
        name = next(iter(body["spec"]))
        _require_alike(ours, theirs, json.dumps([properties[name], body["spec"]]))


_TEXTS = (
    *("", "a", "A", "a-b", "-a", "a.b", "a_b", "a" * 64, "é", "a b", "xn--a", "1.2", "a.b.com"),
    *("http://a.b/c", "/path", "a:b", "http://[::1", "a@b.c", "a@b", "@b", "A B <a@b.c>", "a@"),
    *("10.0.0.1", "10.0.0.300", "::1", "fe80::1%eth0", "::ffff:1.2.3.4", "10.0.0.0/8", "::/0"),
    *("10.0.0.0/33", "10.0.0.1/", "01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-AB"),
    *("01:23", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b58cc3372a5670e02b2c3d479"),
    *("0321751043", "978-0321751041", "978-0321751042", "4111111111111111", "4111 1111 1111 1112"),
    *("123-45-6789", "123 45 6789", "123456789", "#fff", "fff000", "#ffff", "rgb(1,2,255)"),
    *("rgb(1,2,256)", "YWJj", "YWJ", "2026-02-29", "2024-02-29", "2026-1-1", "24h", "3 weeks"),
    *("2 days 3 sec", "5", "1.5h", "-3m", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00Z"),
    *("2026-01-01t00:00:00.5+01:00", "2026-01-01T25:00:00Z", "507f1f77bcf86cd799439011"),
)


def test_formats_are_those_of_kubernetes(judge: Path) -> None:
    """Every format takes and refuses the same texts."""
    names = [*TESTS, "date-time", "k8s-short-name", "k8s-long-name", "unknown"]
    properties: Body = {name: {"type": "string", "format": name} for name in names}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    definition = definition_of(schema)
    objects = [_object(dict.fromkeys(names, text)) for text in _TEXTS]
    expected = _expected(judge, definition, objects)
    found = _found(definition, objects)
    for body, ours, theirs in zip(objects, found, expected, strict=True):
        assert ours == theirs, json.dumps(body["spec"]["uri"])
