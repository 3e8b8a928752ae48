"""Profiles: extending, overriding, and what environments get."""

import re
from pathlib import Path

import pytest

from chartkit import bundled
from chartkit.charts.policies.chart import read_libraries
from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.library.policies import Library, read_library
from chartkit.library.profiles import (
    SCHEMA,
    Selection,
    read_profile,
    resolve,
    resolve_environment,
    resolve_environments,
    with_parameters,
)
from chartkit.project.settings import Action
from chartkit.schemas import json_schema
from tests.data import from_table
from tests.errors import error_of
from tests.unit.project.project_files import write_policy, write_profile, write_project

_PARAMETERS = """\
sharedParameters: [standard]
parameters:
  minimum: {type: integer, default: 2, minimum: 1, description: How many.}
"""
_SHARED = "standard: {type: string, default: latest, description: The version.}\n"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    folder = tmp_path / "library"
    write_policy(folder, "a/first", more=_PARAMETERS)
    write_policy(folder, "a/second", more=_PARAMETERS)
    write_policy(folder, "b/third")
    (folder / "parameters.yaml").write_text(_SHARED)
    return read_library([folder])


def _resolve(tmp_path: Path, library: Library, *names: str) -> Selection:
    return resolve([read_profile(f"{name}.yaml", tmp_path) for name in names], library)


def test_a_profile_extends_others_in_their_order(tmp_path: Path, library: Library) -> None:
    write_profile(tmp_path / "one.yaml", "policies: {a/first: {action: Enforce}, b/third: {}}")
    write_profile(
        tmp_path / "two.yaml", "policies: {a/first: {action: Audit, parameters: {minimum: 3}}}"
    )
    write_profile(
        tmp_path / "all.yaml",
        "extends: [one.yaml, two.yaml]\npolicies: {a/second: {}, b/third: {enabled: false}}",
    )
    resolved = _resolve(tmp_path, library, "all")
    assert resolved.profiles == ("all",)
    assert {name: each.enabled for name, each in resolved.policies.items()} == {
        "first": True,
        "second": True,
        "third": False,
    }
    assert resolved.policies["first"].action is Action.AUDIT
    assert resolved.policies["first"].parameters == {"minimum": 3}


def test_the_same_profile_twice_is_no_cycle(tmp_path: Path, library: Library) -> None:
    write_profile(tmp_path / "base.yaml", "policies: {a/first: {}}")
    write_profile(tmp_path / "left.yaml", "extends: [base.yaml]")
    write_profile(tmp_path / "right.yaml", "extends: [base.yaml]")
    write_profile(tmp_path / "top.yaml", "extends: [left.yaml, right.yaml]")
    assert set(_resolve(tmp_path, library, "top").policies) == {"first"}


def test_a_cycle_is_named(tmp_path: Path) -> None:
    write_profile(tmp_path / "one.yaml", "extends: [two.yaml]")
    write_profile(tmp_path / "two.yaml", "extends: [three.yaml]")
    write_profile(tmp_path / "three.yaml", "extends: [one.yaml]")
    with pytest.raises(InputError, match="one → two → three → one") as raised:
        read_profile("one.yaml", tmp_path)
    assert raised.value.location is not None
    assert raised.value.location.file.endswith("three.yaml")
    assert raised.value.location.line == 7


def test_a_profile_that_extends_itself(tmp_path: Path) -> None:
    write_profile(tmp_path / "one.yaml", "extends: [./one.yaml]")
    with pytest.raises(InputError, match="profile 'one' extends itself: one → one"):
        read_profile("one.yaml", tmp_path)


def test_paths_start_from_the_file_that_names_them(tmp_path: Path, library: Library) -> None:
    write_profile(tmp_path / "deep" / "base.yaml", "policies: {a/first: {}}")
    write_profile(tmp_path / "deep" / "middle.yaml", "extends: [base.yaml]")
    write_profile(tmp_path / "top.yaml", "extends: [deep/middle.yaml]")
    assert set(_resolve(tmp_path, library, "top").policies) == {"first"}


@from_table("spec", "message", "line")
def test_mistakes_have_a_place_and_a_hint(
    tmp_path: Path, library: Library, spec: str, message: str, line: int
) -> None:
    write_profile(tmp_path / "wrong.yaml", spec)
    error = error_of(InputError, _resolve, tmp_path, library, "wrong")
    assert re.search(message, str(error))
    assert error.location is not None
    assert error.location.file.endswith("wrong.yaml")
    assert error.location.line == line


def test_two_documents_are_no_profile(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("a: 1\n---\nb: 2\n")
    with pytest.raises(InputError, match="a profile is one YAML document"):
        read_profile("two.yaml", tmp_path)


def test_parameters_for_all_go_before_earlier_ones_of_one_policy(
    tmp_path: Path, library: Library
) -> None:
    write_profile(
        tmp_path / "one.yaml", "policies: {a/first: {parameters: {minimum: 3}}, a/second: {}}"
    )
    write_profile(tmp_path / "two.yaml", "parameters: {minimum: 5}")
    resolved = _resolve(tmp_path, library, "one", "two")
    assert resolved.parameters == {"minimum": 5}
    assert resolved.policies["first"].parameters == {}
    again = _resolve(tmp_path, library, "two", "one")
    assert again.policies["first"].parameters == {"minimum": 3}


def test_parameters_by_name_and_by_policy(tmp_path: Path, library: Library) -> None:
    write_profile(tmp_path / "one.yaml", "policies: {a/first: {}, a/second: {}}")
    before = _resolve(tmp_path, library, "one")
    after = with_parameters(before, {"first.minimum": 7, "standard": "v1"}, library)
    assert after.policies["first"].parameters == {"minimum": 7}
    assert after.policies["second"].parameters == {}
    assert after.parameters == {"standard": "v1"}
    assert before.parameters == {}
    assert before.policies["first"].parameters == {}
    for wrong in ({"gone": 1}, {"first.gone": 1}, {"gone.minimum": 1}, {"first.minimum": "x"}):
        with pytest.raises(InputError):
            with_parameters(before, wrong, library)


_PROJECT = """\
profiles: [one.yaml]
environments:
  dev:
    kyverno: "1.19"
    kubernetes: "1.34"
"""


def _environment(tmp_path: Path, library: Library, lines: str) -> Selection:
    write_profile(tmp_path / "one.yaml", "policies: {a/first: {}, b/third: {enabled: false}}")
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    project = write_project(tmp_path, _PROJECT + indented)
    return resolve_environment(project.environment("dev"), library, tmp_path)


def test_an_environment_has_the_last_word(tmp_path: Path, library: Library) -> None:
    resolved = _environment(
        tmp_path,
        library,
        "parameters: {standard: v1.30}\n"
        "policies:\n"
        "  first: {action: Enforce, parameters: {minimum: 4}, exclude: [{namespaces: [x]}]}\n"
        "  a/second: {enabled: true}\n"
        "  b/third: {enabled: true}",
    )
    assert all(each.enabled for each in resolved.policies.values())
    assert set(resolved.policies) == {"first", "second", "third"}
    first = resolved.policies["first"]
    assert (first.action, first.parameters) == (Action.ENFORCE, {"minimum": 4})
    assert first.exclude[0].resources == {"namespaces": ["x"]}
    assert resolved.parameters == {"standard": "v1.30"}


def _environments(tmp_path: Path, library: Library, policies: str) -> dict[str, Selection]:
    write_profile(tmp_path / "one.yaml", "policies: {a/first: {}}")
    write_profile(tmp_path / "two.yaml", "policies: {b/third: {}}")
    text = f"policies:\n  {policies}\n{_PROJECT}"
    text += '  qa: {kyverno: "1.19", kubernetes: "1.34", profiles: [two.yaml]}\n'
    return resolve_environments(write_project(tmp_path, text), library)


def test_settings_of_the_project_are_for_the_environments_that_have_the_policy(
    tmp_path: Path, library: Library
) -> None:
    found = _environments(tmp_path, library, "first: {action: Enforce}")
    assert found["dev"].policies["first"].action is Action.ENFORCE
    assert set(found["qa"].policies) == {"third"}
    added = _environments(tmp_path, library, "a/second: {enabled: true}")
    assert all("second" in each.policies for each in added.values())


@from_table("policies", "message")
def test_project_settings_for_unknown_policies_are_refused(
    tmp_path: Path, library: Library, policies: str, message: str
) -> None:
    error = error_of(InputError, _environments, tmp_path, library, policies)
    assert message in str(error)
    assert error.location is not None
    assert error.location.line == 2


@from_table("lines", "message", "line")
def test_mistakes_of_an_environment(
    tmp_path: Path, library: Library, lines: str, message: str, line: int
) -> None:
    error = error_of(InputError, _environment, tmp_path, library, lines)
    assert re.search(message, str(error))
    assert error.location is not None
    assert error.location.file.endswith("chartkit.yaml")
    assert error.location.line == line


@from_table("name", "extends")
def test_built_in_profiles(name: str, extends: str | None) -> None:
    profile = read_profile(name, Path())
    assert [parent.name for parent in profile.extends] == ([extends] if extends else [])
    resolved = resolve([profile], read_libraries())
    assert not resolved.policies["require-non-root-groups"].enabled
    assert resolved.policies["disallow-host-path"].enabled


@pytest.mark.parametrize(
    "file", sorted(bundled.profiles_dir().glob("*.yaml")), ids=lambda p: p.stem
)
def test_built_in_profiles_fit_their_schema(file: Path) -> None:
    (document,) = read_file(file)
    json_schema.require_single_keys(document)
    json_schema.require(document, json_schema.load(SCHEMA))


_HIGH = {
    "disallow-anonymous-bindings",
    "disallow-capabilities",
    "disallow-catch-all-webhooks",
    "disallow-cluster-admin-bindings",
    "disallow-container-sock-mounts",
    "disallow-host-namespaces",
    "disallow-host-path",
    "disallow-host-ports",
    "disallow-host-process",
    "disallow-privileged-containers",
    "disallow-public-load-balancers",
    "restrict-host-path",
    "verify-image-signatures",
}
"""What opens a node or the cluster, and what stops it."""


@pytest.mark.parametrize(
    "file", sorted(bundled.profiles_dir().glob("*.yaml")), ids=lambda p: p.stem
)
def test_severities_of_built_in_profiles_separate(file: Path) -> None:
    resolved = resolve([read_profile(file.stem, Path())], read_libraries())
    severities = {name: each.policy.severity for name, each in resolved.policies.items()}
    high = {name for name, severity in severities.items() if severity == "high"}
    assert high
    assert high == _HIGH & set(severities)
