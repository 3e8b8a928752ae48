"""The charts as Argo CD, Flux, Helmfile and Terraform install them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import hcl2
import pytest
from jsonschema import Draft202012Validator

from chartkit.cli.render import render
from chartkit.documents.reader import read_file, read_text
from chartkit.errors import InputError
from chartkit.model import Body, Json, mapping_at
from chartkit.render.gitops.checks import NO_REPOSITORY, Repository, read_repository
from chartkit.render.gitops.deployers import DEPLOYERS, trees
from tests.engine_chart import objects
from tests.files import write_files
from tests.shared import shared
from tests.unit.project.project_files import write_project

PROJECT = """\
environments:
  dev: {kyverno: "1.19", kubernetes: "1.34", engine: false}
  prd:
    kyverno: "1.19"
    clusters: {east: {kubernetes: "1.34"}, west: {kubernetes: "1.35"}}
"""
GIT = Repository("https://git.example.com/platform.git", "stable", "kyverno")
CLUSTERS = ("prd_east", "prd_west")
FLUX = ["flux"]
KEEP = {"helm.sh/resource-policy": "keep"}


def written(folder: Path, name: str, text: str = PROJECT) -> dict[str, str]:
    return dict(DEPLOYERS[name](write_project(folder, text), GIT))


def documents(folder: Path, name: str) -> dict[str, list[Body]]:
    files = written(folder, name)
    return {file: [each.body for each in read_text(text)] for file, text in files.items()}


def definitions_have(values: Body) -> Body:
    return mapping_at(values, "crds", "annotations")


def test_argo_cd_has_an_application_for_each_cluster(tmp_path: Path) -> None:
    files = documents(tmp_path, "argocd")
    assert list(files) == ["kyverno-policies.yaml", "kyverno.yaml"]
    (engine,), (policies,) = files["kyverno.yaml"], files["kyverno-policies.yaml"]
    assert engine["spec"]["generators"] == [
        {
            "list": {
                "elements": [
                    {
                        "environment": f"prd-{name}",
                        "destination": f"prd-{name}",
                        "valueFiles": ["values_prd.yaml", f"values_prd_{name}.yaml"],
                    }
                    for name in ("east", "west")
                ]
            }
        }
    ]
    listed = policies["spec"]["generators"][0]["list"]["elements"]
    assert [each["environment"] for each in listed] == ["dev", "prd-east", "prd-west"]
    source = engine["spec"]["template"]["spec"]["source"]
    assert (source["repoURL"], source["targetRevision"]) == (GIT.url, "stable")
    assert source["path"] == "kyverno/charts/kyverno"
    waves = [
        each["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]
        for each in (engine, policies, engine["spec"]["template"], policies["spec"]["template"])
    ]
    assert waves == ["0", "1", "0", "1"]


def test_argo_cd_prunes_no_definition_and_ignores_what_kyverno_writes(tmp_path: Path) -> None:
    files = documents(tmp_path, "argocd")
    engine, policies = (
        files[name][0]["spec"]["template"] for name in ("kyverno.yaml", "kyverno-policies.yaml")
    )
    annotations = definitions_have(engine["spec"]["source"]["helm"]["valuesObject"])
    options = annotations["argocd.argoproj.io/sync-options"].split(",")
    assert options == ["ServerSideApply=true", "Prune=false", "Delete=false"]
    assert annotations.items() > KEEP.items()
    assert "valuesObject" not in policies["spec"]["source"]["helm"]
    for application in (engine, policies):
        found = application["metadata"]["annotations"]
        assert found["argocd.argoproj.io/compare-options"] == "ServerSideDiff=true"
        policy = application["spec"]["syncPolicy"]
        assert "ServerSideApply=true" in policy["syncOptions"]
        assert policy["retry"]["limit"] > 1
        ignored = {each["kind"] for each in application["spec"]["ignoreDifferences"]}
        assert ignored == {
            "ClusterRole",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        }
    assert "SkipDryRunOnMissingResource=true" in policies["spec"]["syncPolicy"]["syncOptions"]


def test_flux_installs_the_engine_first(tmp_path: Path) -> None:
    files = documents(tmp_path, "flux")
    assert {name.partition("/")[0] for name in files} == {"dev", *CLUSTERS}
    assert "dev/kyverno/release.yaml" not in files
    source, engine, policies = files["prd_east/flux.yaml"]
    assert source["spec"]["ref"] == {"branch": "stable"}
    assert engine["spec"]["path"] == "./kyverno/gitops/flux/prd_east/kyverno"
    assert (engine["spec"]["wait"], engine["spec"].get("dependsOn")) == (True, None)
    assert policies["spec"]["dependsOn"] == [{"name": engine["metadata"]["name"]}]
    (release,) = files["prd_east/kyverno/release.yaml"]
    assert definitions_have(release["spec"]["values"]) == KEEP
    assert release["spec"]["chart"]["spec"]["valuesFiles"] == [
        f"./kyverno/charts/kyverno/{name}.yaml"
        for name in ("values", "values_prd", "values_prd_east")
    ]
    (after,) = files["prd_east/kyverno-policies/release.yaml"]
    assert after["spec"]["dependsOn"] == [{"name": release["metadata"]["name"]}]
    (alone,) = files["dev/kyverno-policies/release.yaml"]
    assert "dependsOn" not in alone["spec"]


def test_helmfile_has_a_file_for_each_cluster(tmp_path: Path) -> None:
    files = documents(tmp_path, "helmfile")
    assert sorted(files) == ["dev.yaml", "prd_east.yaml", "prd_west.yaml"]
    (body,) = files["prd_west.yaml"]
    engine, policies = body["releases"]
    assert policies["needs"] == [f"{engine['namespace']}/{engine['name']}"]
    assert definitions_have(engine["values"][-1]) == KEEP
    folder = tmp_path / "gitops" / "helmfile"
    for release in body["releases"]:
        chart = (folder / release["chart"]).resolve()
        assert chart == tmp_path.resolve() / "charts" / release["name"]
    assert [each["name"] for each in files["dev.yaml"][0]["releases"]] == ["kyverno-policies"]


@pytest.mark.slow
def test_terraform_has_a_release_for_each_chart(tmp_path: Path) -> None:
    files = written(tmp_path, "terraform")
    assert sorted(files) == ["dev/main.tf", "prd_east/main.tf", "prd_west/main.tf"]
    parsed: Any = hcl2.loads(files["prd_east/main.tf"])
    resources = {
        _plain(name): body
        for each in parsed["resource"]
        for kind, named in each.items()
        if _plain(kind) == "helm_release"
        for name, body in named.items()
    }
    assert list(resources) == ["kyverno", "kyverno_policies"]
    assert "helm_release.kyverno" in str(resources["kyverno_policies"]["depends_on"])
    assert "depends_on" not in resources["kyverno"]
    assert "resource-policy: keep" in str(resources["kyverno"]["values"])
    for body in resources.values():
        assert (body["wait"], body["timeout"]) == (True, 600)
        assert "values_prd_east.yaml" in str(body["values"])


def _plain(text: str) -> str:
    return text.strip('"')


def test_the_definitions_get_the_annotation() -> None:
    rendered = objects({"crds": {"annotations": KEEP}})
    found = [body for (kind, _), body in rendered.items() if kind == "CustomResourceDefinition"]
    assert found
    assert all(body["metadata"]["annotations"].items() >= KEEP.items() for body in found)


def test_the_command_knows_every_deployer() -> None:
    (option,) = [each for each in render.params if each.name == "gitops"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == list(DEPLOYERS)


@pytest.mark.parametrize("name", DEPLOYERS)
def test_files_of_what_is_no_more_are_removed(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "gitops" / name
    write_files(folder, written(tmp_path, name))
    (folder / "own.yaml").write_text("mine: true\n")
    less = write_project(tmp_path, PROJECT.replace("engine: false", "engine: true"))
    (tree,) = trees(less, [name], GIT)
    assert tree.removed == frozenset()
    fewer = write_project(tmp_path, "\n".join(PROJECT.splitlines()[:2]) + "\n")
    (tree,) = trees(fewer, [name], GIT)
    assert tree.removed
    assert not tree.removed & tree.files.keys()
    assert "own.yaml" not in tree.removed


def test_the_repository_is_named_or_known(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "teams" / "platform"
    folder.mkdir(parents=True)
    project = write_project(folder, PROJECT)
    with pytest.raises(InputError, match="which repository holds the charts is not known"):
        read_repository(project, FLUX, None, None)
    found = read_repository(project, FLUX, "https://a", None)
    assert found == Repository("https://a", "main", "teams/platform")
    known = write_project(folder, "sources: [https://b]\n" + PROJECT)
    found = read_repository(known, FLUX, None, "next")
    assert found == Repository("https://b", "next", "teams/platform")
    with pytest.raises(InputError, match="are for --gitops argocd or flux"):
        read_repository(known, ["helmfile"], None, "next")
    assert NO_REPOSITORY.within("charts") == "charts"


def test_objects_fit_their_definitions(tmp_path: Path) -> None:
    """The definitions are those of Argo CD and Flux; a field that they do not have is refused."""
    schemas = dict(_schemas(shared("reference/gitops")))
    checked = 0
    for name in ("argocd", "flux"):
        for bodies in documents(tmp_path, name).values():
            for body in bodies:
                schema = schemas[body["apiVersion"], body["kind"]]
                errors = [each.message for each in Draft202012Validator(schema).iter_errors(body)]
                assert errors == []
                checked += 1
    assert checked > 10


def _schemas(folder: Path) -> Iterator[tuple[tuple[str, str], Json]]:
    for file in sorted(folder.glob("*.yaml")):
        for document in read_file(file):
            spec = document.body["spec"]
            for version in spec["versions"]:
                schema = _strict(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                yield (f"{spec['group']}/{version['name']}", spec["names"]["kind"]), schema


def _strict(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _strict(value) for key, value in schema.items()}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields")
    if (
        schema.get("type") == "object"
        and isinstance(schema.get("properties"), dict)
        and not is_open
    ):
        out.setdefault("additionalProperties", False)
    return out
