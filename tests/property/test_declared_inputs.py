"""Definitions of custom kinds, their objects and releases in any shape: errors, never bugs."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.documents.reader import parse_yaml, read_text, resources
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import ChartkitError
from chartkit.model import Body, Diagnostic, Json, Resource
from chartkit.scan.custom_resources.definitions import read_definitions
from chartkit.scan.custom_resources.results import CustomResources
from chartkit.scan.gitops.model import Repository
from chartkit.scan.gitops.releases import declared_releases, released_values
from tests.data import beside

_TEXTS = beside(__file__)
_DEFINITION = _TEXTS["definition"]
_OBJECT = _TEXTS["object"]
_ODD: tuple[Json, ...] = (
    *(None, True, 0, -1, 2.5, 10**30, "", "a", "{{", "a[99999999]", "2026", "é" * 300),
    *([], [None], [[]], ["a"], [{}], {}, {"": None}, {"a": {"b": []}}, {"type": "object"}),
)


def _changed(value: Json, chance: random.Random) -> Json:
    """Return a value with one part replaced, removed or added."""
    if chance.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return chance.choice(_ODD)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    key = chance.choice(list(value))
    if chance.random() < 0.1:
        return {other: each for other, each in value.items() if other != key}
    return {**value, key: _changed(value[key], chance)}


def _variants(text: str, count: int) -> Iterator[Json]:
    chance = random.Random(11)
    body = parse_yaml(text)
    for _ in range(count):
        changed = _changed(body, chance)
        yield _changed(changed, chance) if chance.random() < 0.5 else changed


def _results(definition: Json, body: Json) -> None:
    found = [Resource(each) for each in (definition,) if isinstance(each, dict)]
    known = CustomResources(read_definitions(found))
    assert known.facts() is not None
    if isinstance(body, dict):
        for result in known.results(Resource(body)):
            assert isinstance(result.message, str)


def test_definitions_of_any_shape() -> None:
    body: Body = parse_yaml(_OBJECT)
    for definition in _variants(_DEFINITION, 1500):
        _results(definition, body)


@pytest.mark.slow
def test_custom_resources_of_any_shape() -> None:
    definition = parse_yaml(_DEFINITION)
    for body in _variants(_OBJECT, 1500):
        _results(definition, body)


@pytest.mark.parametrize("written", [True, False])
def test_releases_of_any_shape(tmp_path: Path, written: bool) -> None:
    texts = _TEXTS["releases"].split("---\n")
    others = [Resource(parse_yaml(text)) for text in texts]
    repository = Repository([tmp_path], lambda _file: tmp_path)
    notes: list[Diagnostic] = []
    for text in texts:
        for body in _variants(text, 150):
            if not isinstance(body, dict):
                continue
            found = [Resource(body), *others[3:]]
            try:
                if written:
                    documents = read_text(dump_yaml(body), "release.yaml")
                    found = [*resources(documents), *others[3:]]
                    list(released_values(documents, {}, notes.append))
                releases = list(declared_releases(found, repository, notes.append))
            except ChartkitError:
                continue
            assert all(str(fault) for each in releases for fault in each.faults)
