"""`chartkit scan` of custom resources whose definitions it knows."""

import json
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import chartkit

_TEXTS = beside(__file__)
DEFINITION = _TEXTS["definition"]
GOOSE = _TEXTS["goose"]
POLICY = _TEXTS["policy"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a definition, a policy and an object."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "goose.yaml").write_text(DEFINITION)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "goose.yaml").write_text(GOOSE)
    return tmp_path


def _rows(folder: Path, *arguments: str) -> list[tuple[str, str, str]]:
    done = chartkit(folder, "scan", "-p", "policy.yaml", "-o", "json", "--detailed", *arguments)
    assert done.code in (0, 1), done.err
    return [
        (f"{row['policy']}/{row['rule']}", row["result"], row.get("location", ""))
        for row in json.loads(done.out)["results"]
    ]


@pytest.mark.slow
def test_scope_and_plural_are_those_of_the_definition(folder: Path) -> None:
    known = _rows(folder, "goose.yaml", "--crds", "crds")
    assert ("no-namespace/", "pass", "goose.yaml:1") in known
    # Without the definition, the kind's resource would be called `gooses`.
    assert not any(name == "no-namespace/" for name, _, _ in _rows(folder, "goose.yaml"))


def test_what_an_api_server_refuses_fails_at_its_field(folder: Path) -> None:
    text = GOOSE.replace("size: 3", 'size: "3"\n  sise: 4') + "status: {}\n"
    (folder / "goose.yaml").write_text(text)
    done = chartkit(folder, "scan", "goose.yaml", "--crds", "crds/goose.yaml", "-p", "policy.yaml")
    assert done.code == 1
    assert 'strict decoding error: unknown field "spec.sise"' in done.out
    assert "goose.yaml:7:3  spec.sise" in done.out
    said = 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'
    assert said in done.out
    assert "goose.yaml:6:3  spec.size" in done.out
    # The status of a new object is dropped: it is a subresource.
    assert "ready" not in done.out


@pytest.mark.slow
def test_the_value_of_a_variable_is_unknown(folder: Path) -> None:
    text = GOOSE.replace("size: 3", "size: ${SIZE}\n  sise: ${SIZE}")
    (folder / "goose.yaml").write_text(text)
    rows = _rows(folder, "goose.yaml", "--crds", "crds")
    assert [row[2] for row in rows if row[1] == "fail"] == ["goose.yaml:7:3"]


@pytest.mark.slow
def test_rules_see_defaults_and_name_what_they_read(folder: Path) -> None:
    (folder / "goose.yaml").write_text(GOOSE.replace("size: 3", "size: 1"))
    rows = _rows(folder, "goose.yaml", "--crds", "crds")
    assert ("geese.example.com/validations", "fail", "goose.yaml:6:3") in rows


@pytest.mark.slow
def test_definitions_among_the_inputs_count(folder: Path) -> None:
    (folder / "goose.yaml").write_text(GOOSE.replace("size: 3", "size: 9"))
    assert ("geese.example.com/schema", "fail", "./goose.yaml:6:3") in _rows(folder, ".") or (
        "geese.example.com/schema",
        "fail",
        "goose.yaml:6:3",
    ) in _rows(folder, ".")


@pytest.mark.slow
def test_a_version_that_is_not_defined_fails(folder: Path) -> None:
    (folder / "goose.yaml").write_text(GOOSE.replace("example.com/v1", "example.com/v2"))
    done = chartkit(folder, "scan", "goose.yaml", "--crds", "crds", "-p", "policy.yaml")
    assert done.code == 1
    assert 'no matches for kind "Goose" in version "example.com/v2"' in done.out
    assert "goose.yaml:1:1  apiVersion" in done.out


@pytest.mark.slow
def test_kinds_without_a_definition_are_named(folder: Path) -> None:
    (folder / "other.yaml").write_text(GOOSE.replace("Goose", "Duck"))
    done = chartkit(folder, "scan", "other.yaml", "--crds", "crds", "-p", "policy.yaml")
    assert done.code == 0
    assert "other.yaml:2:1: note crd: no definition of example.com/Duck" in done.err


@pytest.mark.slow
def test_definitions_of_a_chart_are_read_and_its_objects_judged(folder: Path) -> None:
    chart = folder / "chart"
    (chart / "crds").mkdir(parents=True)
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (chart / "crds" / "goose.yaml").write_text(DEFINITION)
    hook = "  annotations: {helm.sh/hook: post-install}\n"
    text = GOOSE.replace("  name: one\n", f"  name: one\n{hook}").replace("size: 3", "size: 9")
    (chart / "templates" / "goose.yaml").write_text(text)
    rows = _rows(folder, "chart")
    assert ("geese.example.com/schema", "fail", "chart/templates/goose.yaml:7:3") in rows
    assert len(_rows(folder, "goose.yaml", "--crds", "chart")) > 1


@pytest.mark.slow
@from_table("before", "after", "said")
def test_faults_of_definitions_are_named_at_their_place(
    folder: Path, before: str, after: str, said: str
) -> None:
    assert before in DEFINITION
    (folder / "crds" / "goose.yaml").write_text(DEFINITION.replace(before, after, 1))
    done = chartkit(folder, "scan", "goose.yaml", "--crds", "crds", "-p", "policy.yaml")
    assert "crds/goose.yaml:" in done.err
    assert "warning crd: CustomResourceDefinition 'geese.example.com': " in done.err
    assert said in done.err
    assert done.code in (0, 1)


def test_an_outdated_definition_among_the_objects_has_one_row(folder: Path) -> None:
    text = DEFINITION.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1)
    (folder / "crds" / "goose.yaml").write_text(text)
    done = chartkit(folder, "scan", "crds", "-p", "policy.yaml")
    [row] = [line for line in done.err.splitlines() if "v1beta1" in line]
    assert "warning object-fields: Kubernetes " in row


def test_a_path_without_definitions_is_refused(folder: Path) -> None:
    done = chartkit(folder, "scan", "goose.yaml", "--crds", "goose.yaml", "-p", "policy.yaml")
    assert done.code == 2
    assert "goose.yaml: holds no CustomResourceDefinition" in done.err


def test_patches_of_definitions_and_files_of_programs_are_no_failures(folder: Path) -> None:
    head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:"
    (folder / "patch.yaml").write_text(f"{head} {{name: geese.example.com}}\n")
    (folder / "goose.yaml").write_text("apiVersion: example.com/v1\nkind: Goose\nlabels: []\n")
    done = chartkit(
        folder, "scan", "goose.yaml", "patch.yaml", "--crds", "crds", "-p", "pss-baseline"
    )
    what = "CustomResourceDefinition 'geese.example.com': defines no kind, as a patch may"
    assert f"patch.yaml:1: note crd: {what}" in done.err
    assert (done.code, "skip: 1" in done.out) == (0, True), done.out


@pytest.mark.slow
def test_failures_of_definitions_can_be_selected_and_accepted(folder: Path) -> None:
    (folder / "goose.yaml").write_text(GOOSE.replace("size: 3", "size: 9"))
    arguments = ("goose.yaml", "--crds", "crds")
    rows = _rows(folder, *arguments, "--skip", "policy:geese.example.com")
    assert [name for name, _, _ in rows] == ["no-namespace/"]
    scan = ("scan", *arguments, "-p", "policy.yaml", "--baseline", "b.yaml")
    assert chartkit(folder, *scan, "--update-baseline").code == 0
    assert chartkit(folder, *scan).code == 0


@pytest.mark.slow
def test_hostile_definitions_and_objects_end(folder: Path) -> None:
    """Schemas and objects whose product is huge, and rules that cost much."""
    branches = "".join(f"            - {{minimum: {100 + at}}}\n" for at in range(2000))
    text = DEFINITION.replace(
        "              size: {type: integer, maximum: 5}\n",
        "              size: {type: integer, maximum: 5}\n"
        "              many:\n                type: array\n                items:\n"
        "                  anyOf:\n" + branches.replace("            - ", "                  - "),
    ).replace(
        "            properties:\n              size",
        "            properties:\n              deep: {type: array, items: {type: integer},\n"
        "                x-kubernetes-validations: [{rule: "
        '"self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}]}\n'
        "              size",
    )
    (folder / "crds" / "goose.yaml").write_text(text)
    numbers = ", ".join(map(str, range(3000)))
    (folder / "goose.yaml").write_text(f"{GOOSE}  many: [{numbers}]\n")
    done = chartkit(folder, "scan", "goose.yaml", "--crds", "crds", "-p", "policy.yaml")
    assert "has more values than are looked at" in done.out
    (folder / "goose.yaml").write_text(f"{GOOSE}  deep: [{numbers}]\n")
    done = chartkit(folder, "scan", "goose.yaml", "--crds", "crds", "-p", "policy.yaml")
    assert "no further validation rules will be run" in done.out


SCOPED = _TEXTS["scoped"]
NAMESPACES = _TEXTS["namespaces"]
PARAMETERS = _TEXTS["parameters"]
ADMISSION = _TEXTS["admission"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", [PARAMETERS, ADMISSION], ids=["ClusterPolicy", "admission"])
@pytest.mark.parametrize("place", ["objects", "option", "policies"])
def test_parameters_of_a_cluster_scoped_kind(tmp_path: Path, policy: str, place: str) -> None:
    (tmp_path / "crd.yaml").write_text(SCOPED)
    (tmp_path / "objects.yaml").write_text(NAMESPACES)
    (tmp_path / "policy.yaml").write_text(policy)
    given = {"objects": ["crd.yaml"], "option": ["--crds", "crd.yaml"], "policies": []}[place]
    if place == "policies":
        (tmp_path / "policy.yaml").write_text(f"{policy}---\n{SCOPED}")
    rows = _rows(tmp_path, "objects.yaml", *given)
    own = [result for name, result, _ in rows if name.startswith("only-named")]
    assert sorted(own) == ["fail", "pass"]


GENERATE = _TEXTS["generate"]
WRONG = GENERATE.replace("name: g,", "name: g, namespace: shop,")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "scope", "refusal"),
    [
        (GENERATE, "Cluster", ""),
        (GENERATE, "Namespaced", "must be set for a namespaced resource"),
        (GENERATE, "", ""),
        (WRONG, "Cluster", "must not be set for a cluster-wide resource"),
        (WRONG, "Namespaced", ""),
    ],
)
@pytest.mark.parametrize("command", ["scan", "preview", "lint"])
def test_targets_of_generate_rules_have_the_scope_of_their_definition(
    tmp_path: Path, policy: str, scope: str, refusal: str, command: str
) -> None:
    definition = SCOPED.replace("Cluster", scope) if scope else ""
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "objects.yaml").write_text(f"{NAMESPACES}---\n{definition}")
    (tmp_path / "crd.yaml").write_text(definition or "---\n")
    arguments = ["objects.yaml", "-p", "policy.yaml"]
    if command == "lint":
        arguments = ["policy.yaml", *(["crd.yaml"] if scope else [])]
    words = ["policies", "lint"] if command == "lint" else [command]
    done = chartkit(tmp_path, *words, *arguments)
    shown = done.out + done.err
    assert ("target namespace" in shown) is bool(refusal)
    assert refusal in shown


def test_the_api_server_drops_the_namespace_of_a_cluster_scoped_object(folder: Path) -> None:
    (folder / "goose.yaml").write_text(GOOSE.replace("name: one", "name: one\n  namespace: shop"))
    known = _rows(folder, "goose.yaml", "--crds", "crds")
    assert ("no-namespace/", "pass", "goose.yaml:1") in known
