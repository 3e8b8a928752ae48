"""Releases that objects of strangers declare: bounded, and never outside of their folder."""

from pathlib import Path

import pytest

from chartkit.model import Body, Diagnostic, Json, Resource
from chartkit.scan.gitops.model import (
    DeclaredRelease,
    NamedValues,
    Repository,
    ValueNameError,
    typed,
)
from chartkit.scan.gitops.releases import declared_releases, release_objects
from chartkit.scan.inputs import ChartOptions


def _application(source: Body) -> Resource:
    metadata = {"name": "a"}
    spec = {"source": {"path": "chart", **source}, "destination": {}}
    return Resource(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata}
        | {"spec": spec}
    )


def _application_set(elements: list[Json], source: Body) -> Resource:
    template = {"metadata": {"name": "b"}, "spec": {"source": source}}
    spec = {"generators": [{"list": {"elements": elements}}], "template": template}
    body: Body = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet"}
    return Resource({**body, "metadata": {"name": "a"}, "spec": spec})


def _helm_release(spec: Body) -> Resource:
    body: Body = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}
    return Resource({**body, "metadata": {"name": "a"}, "spec": spec})


def _declared(folder: Path, *resources: Resource) -> tuple[list[DeclaredRelease], list[str]]:
    notes: list[Diagnostic] = []
    repository = Repository([folder], lambda _file: folder)
    found = list(declared_releases(resources, repository, notes.append))
    return found, [str(each) for each in notes]


@pytest.mark.parametrize(
    "name", ["../secret", "a/../../secret", "/../secret", "a\0b", "\ud800", "a" * 5_000, "loop"]
)
def test_files_that_are_not_in_the_repository(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("a: b\n")
    folder = tmp_path / "repository"
    (folder / "chart").mkdir(parents=True)
    (folder / "loop").symlink_to("loop")
    assert Repository([folder], lambda _file: None).find(_application({}), name) is None
    chart = {"chart": name, "valuesFiles": [name], "sourceRef": {"kind": "GitRepository"}}
    found, _ = _declared(
        folder,
        _application({"path": name, "helm": {"valueFiles": [name, f"../{name}"]}}),
        _helm_release({"chart": {"spec": chart}}),
    )
    assert [each.values for each in found] == [[], []]
    assert release_objects([_application({"path": name})], [], ChartOptions(), lambda _: None) == []


@pytest.mark.slow
def test_values_that_an_application_set_repeats(tmp_path: Path) -> None:
    element: Json = {"x": "y" * 1_000_000}
    helm = {"helm": {"values": "{{x}}" * 100_000}}
    for resource in (
        _application_set([element], helm),
        _application_set([{"x": ""}] * 200, {"helm": {"values": "a: " + "b" * 300_000}}),
        _application_set([{"x": ""}] * 200, {"a": [1] * 300_000}),
    ):
        found, notes = _declared(tmp_path, resource)
        assert len(found) < 200
        assert "come to more than 4,000,000 letters with all repetitions" in notes[-1]


def test_many_elements_of_an_application_set(tmp_path: Path) -> None:
    elements: list[Json] = [{"x": str(number)} for number in range(201)]
    found, _ = _declared(tmp_path, _application_set(elements, {"path": "{{x}}"}))
    assert [len(found), found[199].chart] == [201, "199"]
    assert "of the generators list (elements beyond 200) are not known" in str(found[200].faults)


def test_values_that_a_release_repeats(tmp_path: Path) -> None:
    config: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    config["data"] = {"values.yaml": f"a: {'b' * 100_000}\n"}
    once = {"kind": "ConfigMap", "name": "c"}
    found, notes = _declared(
        tmp_path, Resource(config), _helm_release({"valuesFrom": [once] * 1_000})
    )
    assert (found, len(notes)) == ([], 1)
    assert "4,000,000 letters" in notes[0]


def test_releases_with_many_sources_of_values(tmp_path: Path) -> None:
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    (tmp_path / "chart" / "v.yaml").write_text("a: b\n")
    notes: list[Diagnostic] = []
    resource = _application({"helm": {"valueFiles": ["v.yaml"] * 101}})
    assert release_objects([resource], [str(tmp_path)], ChartOptions(), notes.append) == []
    assert "has more than 100 sources of values: it is not rendered" in str(notes[0])


@pytest.mark.parametrize(
    "parameter", ["x", [], 1, None, {}, {"name": 1}, {"name": "", "value": ""}]
)
def test_parameters_of_any_type(tmp_path: Path, parameter: Json) -> None:
    (found,), _ = _declared(tmp_path, _application({"helm": {"parameters": [parameter]}}))
    assert found.values == []


def test_names_of_values() -> None:
    named = NamedValues()
    named.set("a.b[1].c", "x")
    named.set("a.b[0]", typed("{1,two,null}"))
    named.set("a.b[1].d", 2)
    assert named.values == {"a": {"b": [[1, "two", None], {"c": "x", "d": 2}]}}
    named.set("a", "y")
    named.set("a.e", "z")
    assert named.values == {"a": {"e": "z"}}
    assert typed("{" * 3_000 + "}" * 3_000) == ["{" * 2_999 + "}" * 2_999]


def test_list_items_that_nothing_sets() -> None:
    named = NamedValues()
    named.set("a[60000]", "x")
    with pytest.raises(ValueNameError):
        named.set("b[60000]", "x")
    with pytest.raises(ValueNameError):
        NamedValues().set("a[70000]", "x")


def test_a_release_without_a_chart_is_a_patch() -> None:
    notes: list[Diagnostic] = []
    assert release_objects([_helm_release({"values": {}})], [], ChartOptions(), notes.append) == []
    assert "it names no chart, as a patch may" in str(notes[0])
