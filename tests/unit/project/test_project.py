"""Projects: what chartkit.yaml says, and what environments inherit."""

from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import InputError
from chartkit.kyverno.versions import Version
from chartkit.project.project import Project, read_project
from chartkit.project.settings import Action
from chartkit.schemas import json_schema
from tests.data import beside, from_table
from tests.errors import error_of

_TEXTS = beside(__file__)

ENVIRONMENT = '{kyverno: "1.19", kubernetes: "1.34"}'


def project(folder: Path, text: str) -> Project:
    (folder / "chartkit.yaml").write_text(text)
    return read_project(folder)


def refusal(folder: Path, text: str) -> str:
    return str(error_of(InputError, project, folder, text)).removeprefix(f"{folder}/")


def test_project_defaults(tmp_path: Path) -> None:
    lines = [f"  {name}: {ENVIRONMENT}" for name in ("dev", "qa", "prd", "sandbox")]
    found = project(tmp_path, "environments:\n" + "\n".join(lines))
    actions = {name: env.action for name, env in found.environments.items()}
    assert actions == {
        "dev": Action.ENFORCE,
        "qa": Action.ENFORCE,
        "prd": Action.AUDIT,
        "sandbox": Action.AUDIT,
    }
    assert found.charts == tmp_path / "charts"
    assert found.manifests == tmp_path / "rendered"
    env = found.environment("dev")
    assert env.profiles == ("pss-restricted",)
    assert (env.kyverno, env.kubernetes) == (Version(1, 19), Version(1, 34))
    assert env.engine
    assert not env.high_availability
    assert env.kube_version == "v1.34.0"


def test_everything_that_it_can_say(tmp_path: Path) -> None:
    text = """
profiles: [eks-best-practices]
library: [policies]
charts: out/charts
manifests: null
workloads: [apps]
environments:
  prd:
    kyverno: v1.19.1
    eks: "1.33"
    engine: false
    highAvailability: true
    profiles: [./mine.yaml]
    action: Enforce
    parameters: {podSecurityVersion: v1.33}
    exclude:
      - namespaces: [kube-system]
        reason: the cluster's own
    policies:
      disallow-latest-tag:
        enabled: true
        action: Audit
        parameters: {tags: [latest]}
        exclude: [{kinds: [Pod], names: ["x-*"]}]
    apis: {monitoring.coreos.com/v1: false}
    workloads: [{path: sub/../chart, values: [v.yaml], namespace: shop, release: r}]
"""
    found = project(tmp_path, text)
    env = found.environment("prd")
    assert found.library == (tmp_path / "policies",)
    assert found.manifests is None
    assert env.eks
    assert not env.engine
    assert env.kube_version == "v1.33.0-eks"
    assert env.profiles == ("./mine.yaml",)
    assert env.exclude[0].resources == {"namespaces": ["kube-system"]}
    assert env.exclude[0].reason == "the cluster's own"
    settings = env.policies["disallow-latest-tag"]
    assert (settings.enabled, settings.action) == (True, Action.AUDIT)
    assert settings.exclude[0].resources == {"kinds": ["Pod"], "names": ["x-*"]}
    assert settings.location.line == 20
    assert env.apis == {"monitoring.coreos.com/v1": False}
    apps, chart = env.workloads
    assert (apps.path, chart.path) == (tmp_path / "apps", tmp_path / "chart")
    assert (chart.values, chart.namespace, chart.release) == ((tmp_path / "v.yaml",), "shop", "r")


@from_table("text", "expected")
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    found = refusal(tmp_path, text)
    assert found.startswith(expected)
    assert "\n" not in found


def test_no_project_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no project file"):
        read_project(tmp_path)


def test_an_unknown_environment_is_named_with_the_known_ones(tmp_path: Path) -> None:
    found = project(tmp_path, f"environments:\n  prd: {ENVIRONMENT}")
    assert error_of(InputError, found.environment, "prod").hint == "did you mean 'prd'?"


def test_the_schema_is_a_valid_schema() -> None:
    from jsonschema import Draft202012Validator

    from chartkit.schemas import json_schema

    Draft202012Validator.check_schema(json_schema.load("project.schema.json"))


def test_values_are_what_the_schema_says(tmp_path: Path) -> None:
    """Every key of the schema is read: a new one without a reader is a mistake."""
    from chartkit.schemas import json_schema

    body: dict[str, Any] = json_schema.load("project.schema.json")
    assert set(body["properties"]) == {
        "profiles",
        "policyType",
        "library",
        "exclude",
        "policies",
        "charts",
        "chartVersion",
        "maintainers",
        "sources",
        "defaults",
        "exceptionRules",
        "versions",
        "home",
        "icon",
        "suppressions",
        "lint",
        "manifests",
        "workloads",
        "environments",
    }
    text = f"environments:\n  dev: {ENVIRONMENT}"
    assert project(tmp_path, text).environment("dev").locate("kubernetes").line == 2


def test_settings_of_the_project_are_under_those_of_an_environment(tmp_path: Path) -> None:
    text = beside(__file__)["settings_of_the_project_are_under_those_of_an_environment"]
    found = project(tmp_path, text)
    dev, qa = found.environment("dev"), found.environment("qa")
    assert [each.resources["namespaces"] for each in dev.exclude] == [["a"], ["b"]]
    assert [each.location.line for each in dev.exclude] == [1, 9]
    one = dev.policies["one"]
    assert (one.enabled, one.action, one.parameters) == (True, "Audit", {"x": 1, "z": 2})
    assert [each.location.line for each in one.exclude] == [3, 11]
    assert (one.location.line, one.action_at and one.action_at.line) == (11, 11)
    assert {key: place.line for key, place in one.places.items() if "." in key} == {
        "parameters.x": 3,
        "parameters.z": 11,
    }
    assert [one.everywhere, dev.policies["two"].everywhere] == [False, True]
    assert qa.policies["one"].action == "Enforce"
    assert qa.policies["one"].everywhere
    assert qa.exclude == found.exclude


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("policies: {one: {acton: Audit}}\n", "unknown key 'acton'", 1),
        ("policies: {one: {exclude: [{reason: why}]}}\n", "is without effect", 1),
        ("exclude: [{namespace: [a]}]\n", "unknown key 'namespace'", 1),
    ],
)
def test_mistakes_in_settings_of_the_project(
    tmp_path: Path, text: str, message: str, line: int
) -> None:
    error = error_of(InputError, project, tmp_path, f"{text}environments:\n  prd: {ENVIRONMENT}")
    assert message in str(error)
    assert error.location is not None
    assert error.location.line == line


def test_the_form_of_policies_stands_with_the_environment_or_the_project(tmp_path: Path) -> None:
    text = (
        "policyType: ValidatingPolicy\nenvironments:\n"
        '  dev: {kyverno: "1.19", kubernetes: "1.34"}\n'
        '  prd: {kyverno: "1.19", kubernetes: "1.34", policyType: ClusterPolicy}\n'
    )
    found = project(tmp_path, text)
    dev, prd = found.environment("dev"), found.environment("prd")
    assert (dev.policy_type, prd.policy_type) == ("ValidatingPolicy", "ClusterPolicy")
    assert (dev.locate_policy_type().line, prd.locate_policy_type().line) == (1, 4)
    plain = project(tmp_path, f"environments:\n  dev: {ENVIRONMENT}").environment("dev")
    assert plain.policy_type is None


TEXT = _TEXTS["text"]


def inheritance_project(folder: Path, text: str = TEXT) -> Project:
    (folder / "chartkit.yaml").write_text(text)
    return read_project(folder)


def test_an_environment_has_what_it_inherits(tmp_path: Path) -> None:
    found = inheritance_project(tmp_path)
    assert list(found.environments) == ["prd/east", "prd/west", "dr", "qa"]
    qa, dr = found.environment("qa"), found.environment("dr")
    assert (qa.kyverno, qa.kubernetes, qa.eks) == (Version(1, 19), Version(1, 34), True)
    assert (qa.action, dr.action) == (Action.ENFORCE, Action.AUDIT)
    assert (dr.kyverno, dr.cluster) == (Version(1, 18), "")
    assert dr.apis == {"one/v1": True, "two/v1": False}


def test_maps_merge_lists_of_objects_add_up_and_parameters_are_replaced(tmp_path: Path) -> None:
    west = inheritance_project(tmp_path).environment("prd/west")
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
    found = inheritance_project(tmp_path)
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
    found = inheritance_project(tmp_path)
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
    found = inheritance_project(tmp_path)
    assert [each.name for each in found.environments_of("prd")] == ["prd/east", "prd/west"]
    error = error_of(InputError, found.environment, "prd")
    assert "'prd' has 2 clusters" in str(error)
    assert error.hint == "name one of its clusters: prd/east, prd/west"
    assert error_of(InputError, found.environment, "prd/eats").hint == "did you mean 'prd/east'?"


def test_null_takes_away_what_is_inherited(tmp_path: Path) -> None:
    text = """\
defaults: {kyverno: "1.19", kubernetes: "1.34", baseline: b.yaml, monitoring: {mode: nodeport}}
environments:
  dev: {baseline: null, monitoring: null}
  qa: {monitoring: {nodePort: 30070}}
  prd: {monitoring: {mode: prometheus-operator}}
"""
    found = inheritance_project(tmp_path, text)
    dev, qa, prd = (found.environment(name) for name in ("dev", "qa", "prd"))
    assert (dev.baseline, dev.monitoring) == (None, None)
    assert qa.monitoring is not None
    assert (qa.monitoring.mode, qa.monitoring.node_port) == ("nodeport", 30070)
    assert prd.monitoring is not None
    assert prd.baseline == tmp_path / "b.yaml"


def test_the_default_action_is_that_of_what_is_extended(tmp_path: Path) -> None:
    text = 'environments: {qa: {kyverno: "1.19", eks: "1.34"}, canary: {extends: qa}}\n'
    assert inheritance_project(tmp_path, text).environment("canary").action is Action.ENFORCE


@from_table("text", "expected", "hint")
def test_mistakes_in_what_is_inherited(
    tmp_path: Path, text: str, expected: str, hint: str | None
) -> None:
    error = error_of(InputError, inheritance_project, tmp_path, f"environments:\n  {text}\n")
    assert str(error).removeprefix(f"{tmp_path}/chartkit.yaml:").startswith(expected)
    assert hint is None or error.hint == hint


def test_a_mistake_in_defaults_is_at_its_place(tmp_path: Path) -> None:
    text = 'defaults:\n  kyverno: "1.19"\n  kubernetes: abc\nenvironments: {dev: {}}\n'
    error = error_of(InputError, inheritance_project, tmp_path, text)
    assert str(error).startswith(f"{tmp_path}/chartkit.yaml:3:3: 'abc' is not a version")


def test_defaults_and_clusters_have_the_keys_of_an_environment() -> None:
    definitions: dict[str, Any] = json_schema.load("project.schema.json")["$defs"]
    keys = {name: set(definitions[name]["properties"]) for name in ("environment", "defaults")}
    assert keys["environment"] - keys["defaults"] == {"extends", "clusters"}
    assert set(definitions["cluster"]["properties"]) == {*keys["defaults"], "region"}
