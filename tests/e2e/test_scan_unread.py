"""Files, folders and charts that cannot be read are rows; everything else is judged."""

import json
import os
from pathlib import Path

import pytest

from tests.data import beside, tables
from tests.e2e.command import chartkit

POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: x}]}\n"
)
CHART = "apiVersion: v2\nname: broken\nversion: 0.1.0\n"
POLICY = beside(__file__)["policy"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with everything that cannot be read, and two Pods."""
    below = tmp_path / "in"
    for name in ("chart/templates", "linked", "remote/templates", "locked", "z"):
        (below / name).mkdir(parents=True)
    files = {
        "policy.yaml": POLICY,
        "in/a.yaml": POD.replace("NAME", "first"),
        "in/z/z.yaml": POD.replace("NAME", "last"),
        "in/chart/Chart.yaml": CHART,
        "in/chart/templates/a.yaml": "kind: {{ fail `never` }}\n",
        "in/linked/Chart.yaml": CHART,
        "in/remote/Chart.yaml": CHART,
        "in/remote/values.schema.json": '{"$ref": "https://example.com/schema.json"}',
        "in/remote/templates/a.yaml": POD.replace("NAME", "r"),
        "in/deep.json": '{"apiVersion": "v1", "kind": "X", "a": ' + "[" * 9000 + "]" * 9000 + "}",
        "in/open.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: [\n",
        "in/tsconfig.json": '{\n  "a": 1, /* why */ // so\n  "b": 2\n}\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    (below / "bytes.yaml").write_bytes(b"apiVersion: v1\nkind: Pod\nmetadata: {name: \xff}\n")
    (below / "loop.yaml").symlink_to("loop.yaml")
    (below / "gone.yaml").symlink_to("nowhere.yaml")
    (below / "linked" / "out").symlink_to("/etc")
    os.mkfifo(below / "pipe.yaml")
    return tmp_path


ROWS = tables(__file__)["rows"]


def _rows(err: str) -> list[str]:
    return [line for line in err.splitlines() if ": error unread: " in line]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_is_a_row_and_the_rest_is_judged(folder: Path, jobs: str) -> None:
    done = chartkit(
        folder, "scan", "in", "-p", "policy.yaml", "-o", "json", "-q", "--jobs", jobs,
    )  # fmt: skip
    assert done.code == 2
    found = [each["resource"].split("/")[-1] for each in json.loads(done.out)["results"]]
    assert found == ["first", "last"]
    rows = _rows(done.err)
    for place, said in ROWS.items():
        assert any(row.startswith(place) and said in row for row in rows), (place, done.err)
    assert len(rows) == len(ROWS), done.err
    whole = chartkit(folder, "scan", "in", "-p", "policy.yaml")
    assert "in/tsconfig.json:3:6: note scan-input: holds no Kubernetes object" in whole.err


@pytest.mark.slow
def test_large_inputs_give_the_same_rows(folder: Path) -> None:
    for name in ("chart", "linked", "remote"):
        for file in sorted((folder / "in" / name).rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
        (folder / "in" / name).rmdir()
    small = chartkit(folder, "scan", "in", "-p", "policy.yaml", "-q")
    padding = "#" + "x" * 1000 + "\n"
    (folder / "in" / "z" / "z.yaml").write_text(POD.replace("NAME", "last") + padding * 1200)
    for jobs in ("1", "2"):
        done = chartkit(folder, "scan", "in", "-p", "policy.yaml", "-q", "--jobs", jobs)
        assert done == small
    assert small.code == 2
    assert len(_rows(small.err)) == 6


def test_a_folder_without_permission_is_a_row(folder: Path) -> None:
    (folder / "in" / "locked").chmod(0)
    if os.access(folder / "in" / "locked", os.R_OK):
        pytest.skip("this user may read everything")
    done = chartkit(folder, "scan", "in", "-p", "policy.yaml", "-q")
    assert "in/locked: error unread: cannot be read: Permission denied" in done.err


def test_one_of_several_paths_is_a_row(folder: Path) -> None:
    paths = ("in/chart", "nope.yaml", "in/tsconfig.json", "in/a.yaml", "in/locked")
    done = chartkit(folder, "scan", *paths, "-p", "policy.yaml", "-o", "json")
    assert done.code == 2
    assert [row.partition(":")[0] for row in _rows(done.err)] == [
        "in/chart/templates/a.yaml", "nope.yaml", "in/tsconfig.json", "in/locked",
    ]  # fmt: skip
    assert len(json.loads(done.out)["results"]) == 1
    sole = chartkit(folder, "scan", "in/open.yaml", "-p", "policy.yaml")
    assert (sole.code, sole.out) == (2, "")


@pytest.mark.slow
def test_a_baseline_keeps_what_could_not_be_read(folder: Path) -> None:
    gate = ("scan", "in", "-p", "policy.yaml", "--baseline", "known.yaml", "-q")
    assert chartkit(folder, *gate, "--update-baseline").code == 2
    known = (folder / "known.yaml").read_text("utf-8")
    assert "last" in known
    (folder / "in" / "z" / "z.yaml").write_text("apiVersion: v1\nkind: [\n", "utf-8")
    assert "no longer found" not in chartkit(folder, *gate, "--fail-on-stale").err
    chartkit(folder, *gate, "--update-baseline")
    assert (folder / "known.yaml").read_text("utf-8") == known


def test_other_commands_go_on_too(folder: Path) -> None:
    mutation = POLICY.partition("    validate:")[0]
    mutation += "    mutate: {patchStrategicMerge: {metadata: {labels: {seen: 'yes'}}}}\n"
    (folder / "policy.yaml").write_text(mutation, "utf-8")
    seen = chartkit(folder, "preview", "in", "-p", "policy.yaml")
    assert (seen.code, len(_rows(seen.err))) == (2, len(ROWS))
    assert "# 2 mutated" in seen.out
    payloads = chartkit(folder, "scan", "in/open.yaml", "in/a.yaml", "--json", "-p", "policy.yaml")
    assert payloads.code == 2


@pytest.mark.slow
def test_folders_of_policies_and_exceptions_have_rows_too(folder: Path) -> None:
    exception = (
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: d}\n"
        "spec:\n  exceptions: [{policyName: owner, ruleNames: [label]}]\n"
        "  match: {any: [{resources: {kinds: [Pod], names: [last]}}]}\n"
    )
    for name, text in (("own/owner.yaml", POLICY), ("let/e.yaml", exception)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text, "utf-8")
        (folder / name).with_name("open.yaml").write_text(f"{text}x: [\n", "utf-8")
    options = ("-p", "own", "--exceptions", "let")
    for command in (
        ("scan", "in/a.yaml"), ("preview", "in/a.yaml"), ("exceptions", "check", "in/a.yaml"),
        ("estimate", "in/a.yaml"),
    ):  # fmt: skip
        done = chartkit(folder, *command, *options)
        assert done.code == 2, command
        assert [row.partition(":")[0] for row in _rows(done.err)] == [
            "let/open.yaml", "own/open.yaml",
        ], command  # fmt: skip
    assert "no owner" in chartkit(folder, "scan", "in/a.yaml", *options).out
    listed = chartkit(folder, "exceptions", "list", "let")
    assert (listed.code, len(_rows(listed.err)), "owner" in listed.out) == (2, 1, True)
    (folder / "own" / "owner.yaml").unlink()
    done = chartkit(folder, "scan", "in/a.yaml", *options)
    assert (done.code, done.out) == (2, "")
    assert "own/open.yaml:10:1: is not YAML" in done.err


def test_objects_of_a_proof_may_be_unread(folder: Path) -> None:
    done = chartkit(folder, "migrate", "policies", "policy.yaml", "--objects", "in")
    assert (done.code, len(_rows(done.err))) == (2, len(ROWS))
    assert "kind: ValidatingPolicy" in done.out


def test_what_is_excluded_is_not_read(folder: Path) -> None:
    names = ("bytes.yaml", "/chart/", "*ked", "deep.json", "gone.yaml", "loop.yaml", "pipe.yaml")
    options = [part for name in names for part in ("--exclude", name)]
    scan = ("scan", "in", "-p", "policy.yaml", "-q", *options)
    left = chartkit(folder, *scan)
    assert left.code == 2
    assert [row.partition(":")[0] for row in _rows(left.err)] == [
        "in/open.yaml", "in/remote/values.schema.json",
    ]  # fmt: skip
    project = "environments: {}\nexclude:\n- in/open.yaml\n- '**/remote'\n- {namespaces: [x]}\n"
    (folder / "chartkit.yaml").write_text(project, "utf-8")
    done = chartkit(folder, *scan)
    assert (done.code, done.err) == (1, "")
    assert chartkit(folder, *scan, "--exclude", "in/z/*").out.count("  fail  ") == 1


@pytest.mark.slow
def test_hidden_folders_with_manifests_are_named(tmp_path: Path) -> None:
    for name in (".tests/pod.yaml", ".more/deep/pod.yaml", "pod.yaml", ".git/pod.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(POD.replace("NAME", "one"), "utf-8")
    (tmp_path / ".github").mkdir()
    script = "  apiVersion: v1\n  kind: Pod\n"
    (tmp_path / ".github" / "ci.yml").write_text(f"run: |\n{script}", "utf-8")
    said = "note scan-input: is a hidden folder with manifests and is not read"
    done = chartkit(tmp_path, "scan", ".")
    assert f".more: {said}, nor is 1 more of them (name it as PATH)" in done.err
    done = chartkit(tmp_path, "scan", ".", "--exclude", ".more")
    assert f".tests: {said} (name it as PATH)" in done.err


def test_settings_of_helm_are_no_variables_of_policies(folder: Path) -> None:
    chart = folder / "good"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(CHART, "utf-8")
    (chart / "templates" / "a.yaml").write_text(POD.replace("NAME", "x"), "utf-8")
    context = "    context: [{name: team, configMap: {name: t, namespace: ns}}]\n    match:"
    text = POLICY.replace("no owner", "'{{ team.data.name }}'").replace("    match:", context)
    (folder / "policy.yaml").write_text(text, "utf-8")
    scan = ("scan", "good", "-p", "policy.yaml", "-q")
    refused = chartkit(folder, *scan, "--set", "team.data.name=a,image.tag=v1")
    assert refused.code == 2
    assert refused.line.startswith("--set image.tag: no policy has this variable (values of a")
    assert chartkit(folder, *scan, "--set", "team.data.name=a,request.operation=UPDATE").code == 1
    assert chartkit(folder, "scan", "in/a.yaml", *scan[2:], "--set", "image.tag=v1").code == 1


def test_a_misspelt_suppression_is_a_warning(tmp_path: Path) -> None:
    names = "chartkit.dev/supress: x, chartkit.dev/reason: why, kyverno.io/suppress-x: z"
    metadata = f"{{name: p, annotations: {{{names}}}}}"
    (tmp_path / "pod.yaml").write_text(POD.replace("{name: NAME}", metadata), "utf-8")
    done = chartkit(tmp_path, "scan", "pod.yaml")
    said = "warning scan-input: the annotation chartkit.dev/supress has no effect"
    assert done.line == f"pod.yaml:3:35: {said} (did you mean 'chartkit.dev/suppress'?)"
