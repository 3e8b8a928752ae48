"""What environments inherit (`defaults`, `extends`, `clusters`), and where it is written."""

from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import InputError
from chartkit.kyverno.versions import Version
from chartkit.project.project import Project, read_project
from chartkit.project.settings import Action
from chartkit.schemas import json_schema
from tests.data import beside

_TEXTS = beside(__file__)
TEXT = _TEXTS["text"]


def project(folder: Path, text: str = TEXT) -> Project:
    (folder / "chartkit.yaml").write_text(text)
    return read_project(folder)


def test_an_environment_has_what_it_inherits(tmp_path: Path) -> None:
    found = project(tmp_path)
    assert list(found.environments) == ["prd/east", "prd/west", "dr", "qa"]
    qa, dr = found.environment("qa"), found.environment("dr")
    assert (qa.kyverno, qa.kubernetes, qa.eks) == (Version(1, 19), Version(1, 34), True)
    assert (qa.action, dr.action) == (Action.ENFORCE, Action.AUDIT)
    assert (dr.kyverno, dr.cluster) == (Version(1, 18), "")
    assert dr.apis == {"one/v1": True, "two/v1": False}


def test_maps_merge_lists_of_objects_add_up_and_parameters_are_replaced(tmp_path: Path) -> None:
    west = project(tmp_path).environment("prd/west")
    assert [each.resources["namespaces"] for each in west.exclude] == [["a"], ["c"], ["e"]]
    assert west.parameters == {"list": [3], "map": {"z": 2}}
    first = west.policies["first"]
    assert first.parameters == {"p": 1, "q": 2}
    assert [each.resources["namespaces"] for each in first.exclude] == [["b"], ["d"]]
    assert (first.action, first.everywhere) == (Action.AUDIT, False)
    assert west.policies["second"].everywhere
    (action,) = first.actions
    assert (action.action, action.selector) == (Action.ENFORCE, {"matchLabels": {"a": "b"}})
    assert [each.namespaces for each in west.actions] == [("pay-*",)]
    assert (west.eks, west.kubernetes) == (False, Version(1, 33))


def test_every_key_has_the_place_where_it_is_written(tmp_path: Path) -> None:
    found = project(tmp_path)
    west, east, dr = (found.environment(name) for name in ("prd/west", "prd/east", "dr"))
    assert [each.location.line for each in west.exclude] == [5, 13, 25]
    first = west.policies["first"]
    assert {key: place.line for key, place in first.places.items() if "." in key} == {
        "parameters.p": 9,
        "parameters.q": 17,
    }
    assert first.action_at is not None
    assert first.action_at.line == 9
    assert [each.location.line for each in first.exclude] == [9, 17]
    assert (first.location.line, east.locate("kyverno").line, dr.locate("kyverno").line) == (
        26,
        2,
        27,
    )
    assert [each.location.line for each in east.engine_values] == [18, 22]
    assert west.locate("no such key").line == 23


def test_names_of_files(tmp_path: Path) -> None:
    found = project(tmp_path)
    east, qa = found.environment("prd/east"), found.environment("qa")
    assert (east.file_name, east.group, east.cluster) == ("prd_east", "prd", "east")
    assert east.values_files == ("values_prd.yaml", "values_prd_east.yaml")
    assert east.region == "eu-central-1"
    assert (qa.file_name, qa.values_files) == ("qa", ("values_qa.yaml",))
    assert [each.path for each in east.engine_values] == [
        tmp_path / "one.yaml",
        tmp_path / "two.yaml",
    ]


def test_an_environment_of_clusters_stands_for_all_of_them(tmp_path: Path) -> None:
    found = project(tmp_path)
    assert [each.name for each in found.environments_of("prd")] == ["prd/east", "prd/west"]
    with pytest.raises(InputError) as raised:
        found.environment("prd")
    assert "'prd' has 2 clusters" in str(raised.value)
    assert raised.value.hint == "name one of its clusters: prd/east, prd/west"
    with pytest.raises(InputError) as raised:
        found.environment("prd/eats")
    assert raised.value.hint == "did you mean 'prd/east'?"


def test_null_takes_away_what_is_inherited(tmp_path: Path) -> None:
    text = """\
defaults: {kyverno: "1.19", kubernetes: "1.34", baseline: b.yaml, monitoring: {mode: nodeport}}
environments:
  dev: {baseline: null, monitoring: null}
  qa: {monitoring: {nodePort: 30070}}
  prd: {monitoring: {mode: prometheus-operator}}
"""
    found = project(tmp_path, text)
    dev, qa, prd = (found.environment(name) for name in ("dev", "qa", "prd"))
    assert (dev.baseline, dev.monitoring) == (None, None)
    assert qa.monitoring is not None
    assert (qa.monitoring.mode, qa.monitoring.node_port) == ("nodeport", 30070)
    assert prd.monitoring is not None
    assert prd.baseline == tmp_path / "b.yaml"


def test_the_default_action_is_that_of_what_is_extended(tmp_path: Path) -> None:
    text = 'environments: {qa: {kyverno: "1.19", eks: "1.34"}, canary: {extends: qa}}\n'
    assert project(tmp_path, text).environment("canary").action is Action.ENFORCE


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        (
            "a: {extends: b}\n  b: {extends: c}\n  c: {extends: a}",
            "4:7: environment 'a' extends itself: a → b → c → a",
            None,
        ),
        (
            "a: {extends: prod}\n  prd: {}",
            "2:7: there is no environment 'prod'",
            "did you mean 'prd'?",
        ),
        ("a: {kubernetes: '1.34'}", "2:3: environment 'a' has no 'kyverno'", None),
        (
            "a: {kyverno: '1.19', kubernetes: '1.34', clusters: {}}",
            "2:44: 'environments.a.clusters' is empty",
            None,
        ),
        (
            "a: {clusters: {b: {extends: x}}}",
            "2:22: unknown key 'extends'",
            None,
        ),
        (
            "a: {clusters: {b: {kyvern: '1.19'}}}",
            "2:22: unknown key 'kyvern'",
            "did you mean 'kyverno'?",
        ),
        (
            "a: {kyverno: '1.19', kubernetes: '1.34', engine: false, engineValues: [x]}",
            "2:59: 'engineValues' needs the engine's chart, and engine is false",
            None,
        ),
        (
            "a: {kyverno: '1.19', kubernetes: '1.34', actions: [{action: Audit}]}",
            "2:54: 'environments.a.actions.0' is without effect",
            None,
        ),
    ],
)
def test_mistakes_in_what_is_inherited(
    tmp_path: Path, text: str, expected: str, hint: str | None
) -> None:
    with pytest.raises(InputError) as raised:
        project(tmp_path, f"environments:\n  {text}\n")
    assert str(raised.value).removeprefix(f"{tmp_path}/chartkit.yaml:").startswith(expected)
    assert hint is None or raised.value.hint == hint


def test_a_mistake_in_defaults_is_at_its_place(tmp_path: Path) -> None:
    text = 'defaults:\n  kyverno: "1.19"\n  kubernetes: abc\nenvironments: {dev: {}}\n'
    with pytest.raises(InputError) as raised:
        project(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path}/chartkit.yaml:3:3: 'abc' is not a version")


def test_defaults_and_clusters_have_the_keys_of_an_environment() -> None:
    definitions: dict[str, Any] = json_schema.load("project.schema.json")["$defs"]
    keys = {name: set(definitions[name]["properties"]) for name in ("environment", "defaults")}
    assert keys["environment"] - keys["defaults"] == {"extends", "clusters"}
    assert set(definitions["cluster"]["properties"]) == {*keys["defaults"], "region"}
