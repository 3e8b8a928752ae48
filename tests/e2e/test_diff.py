"""`chartkit diff`: between revisions, and with what Helm has installed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.helm.chart_values import merge
from chartkit.model import Body
from tests.e2e.command import chartkit
from tests.e2e.test_install import Cluster, cluster, server
from tests.e2e.transcript import check_page
from tests.small_charts import POLICY_NAMES, write_project

pytestmark = pytest.mark.slow

POLICIES, ENGINE = "charts/kyverno-policies/values_prd.yaml", "charts/kyverno/values_prd.yaml"


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def edit(file: Path, over: Body) -> None:
    file.write_text(dump_yaml(merge(read_file(file)[0].body, over)), "utf-8")


@pytest.fixture
def committed(project: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-qm", "start")
    return project


@pytest.fixture
def edited(committed: Path) -> Path:
    policies = {"disallow-privileged-containers": {"action": "Enforce"}}
    edit(committed / POLICIES, {"policies": policies})
    extra = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["delete"]}]
    controller = {"replicas": 2, "rbac": {"clusterRole": {"extraResources": extra}}}
    edit(
        committed / ENGINE,
        {"backgroundController": controller, "webhooksCleanup": {"enabled": False}},
    )
    return committed


def test_diff_page_is_true(edited: Path, update: bool) -> None:
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "t"), ("EMAIL", "t@example.com"))
    }
    check_page("reference/diff.md", edited, update, who)


def test_three_kinds_of_change_are_ranked(edited: Path) -> None:
    done = chartkit(edited, "diff", "prd", "--against", "main", "--fail-on", "medium", "-o", "json")
    assert (done.code, done.err) == (1, "")
    (found,) = json.loads(done.out)["comparisons"]
    risks = [each["risk"] for each in found["changes"]]
    assert risks == sorted(risks, key=["high", "medium", "low"].index)
    said = {(each["kind"], each["change"]): each for each in found["changes"]}
    assert "refuses what it only reported" in said["ValidatingPolicy", "changed"]["reason"]
    assert "allows to delete jobs of batch" in " ".join(
        each["reason"] or "" for each in found["changes"]
    )
    assert said["Job", "removed"]["risk"] == "medium"
    (other,) = json.loads(chartkit(edited, "diff", "dev", "--against", "main", "-o", "json").out)[
        "comparisons"
    ]
    assert other["changes"] == []


def test_environments_and_folders(project: Path) -> None:
    done = chartkit(project, "diff", "--from", "dev", "--to", "prd", "-o", "markdown")
    assert done.code == 0
    assert done.out.startswith("### dev → prd\n")
    assert (
        "| medium | ValidatingPolicy disallow-host-path | changed | no longer refuses" in done.out
    )
    for against in ("rendered", "."):
        done = chartkit(project, "diff", "--against", against, "--fail-on", "low")
        assert done.code == 0, done.out
        assert done.out.count("no difference") == 3
    assert chartkit(project, "diff", "--from", "qa", "--to", "qa", "--fail-on", "low").code == 0


def test_files_without_objects_in_a_folder_are_passed_over(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "rendered/prd", tmp_path / "today")
    (tmp_path / "today/values.yaml").write_text("admissionController: {replicas: 3}\n")
    done = chartkit(project, "diff", "prd", "--against", str(tmp_path / "today"))
    assert (done.code, "no difference" in done.out) == (0, True)
    assert f"1 file without Kubernetes objects: {tmp_path}/today/values.yaml" in done.err


def test_a_file_of_a_folder_that_cannot_be_read_is_a_row(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "rendered/prd", tmp_path / "today")
    (tmp_path / "today/open.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {\n", "utf-8")
    done = chartkit(project, "diff", "prd", "--against", str(tmp_path / "today"))
    assert (done.code, "no difference" in done.out) == (2, True)
    assert f"{tmp_path}/today/open.yaml:4:1: error unread: is not YAML" in done.err


def test_diff_refuses_wrong_input(project: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        (["--against", "nowhere"], "'nowhere' is not a folder (give a folder, or run it in a git"),
        (["--against", str(tmp_path / "empty")], "holds no manifests"),
        (["--from", "dev", "--to", "pdr"], "there is no environment 'pdr' (did you mean 'prd'?"),
    ):
        done = chartkit(project, "diff", *arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.line
    assert chartkit(project, "diff", "--from", "dev").code == 2
    shutil.rmtree(project / "charts/kyverno")
    done = chartkit(project, "diff", "--from", "dev", "--to", "prd")
    assert done.code == 2
    assert "there is no such values file (`chartkit render` writes the charts)" in done.line


def test_a_revision_that_is_not_there(committed: Path) -> None:
    done = chartkit(committed, "diff", "--against", "v9")
    assert done.code == 2
    assert "there is no commit 'v9' in it (give a branch, a tag or a commit)" in done.line


def test_what_helm_warns_of_is_said_once_and_not_of_earlier_charts(tmp_path: Path) -> None:
    write_project(tmp_path)
    schema = tmp_path / "charts" / "kyverno-policies" / "values.schema.json"
    schema.write_text('{"$ref": "urn:example:a"}')
    between = chartkit(tmp_path, "diff", "--from", "prd", "--to", "bare", "-o", "json")
    json.loads(between.out)
    before = write_project(tmp_path / "before")
    against = chartkit(tmp_path, "diff", "prd", "--against", str(before))
    behind = chartkit(before, "diff", "prd", "--against", str(tmp_path))
    for done in (between, against):
        (line,) = done.err.splitlines()
        assert "kyverno-policies" in line
        assert "urn:example:a" in line, line
    assert behind.err == ""


__all__ = ["cluster", "server"]
VALUES = "charts/kyverno-policies/values_prd.yaml"


def test_the_releases_of_a_cluster_are_a_side(cluster: Cluster) -> None:
    none = cluster.run("diff", "prd", "--against", "release")
    assert none.code == 2
    assert "has no release of the charts" in none.err
    assert cluster.run("install", "prd", "--yes", "--allow-drift").code == 0
    same = cluster.run("diff", "prd", "--against", "release")
    assert (same.code, "no difference" in same.out) == (0, True), same.out + same.err
    (cluster.project / VALUES).write_text("action: Enforce\n")
    done = cluster.run("diff", "prd", "--against", "release", "-o", "json")
    (compared,) = json.loads(done.out)["comparisons"]
    assert compared["from"].startswith("releases in ")
    assert {each["name"] for each in compared["changes"]} == set(POLICY_NAMES)
    assert {each["reason"] for each in compared["changes"]} == {
        "refuses what it only reported before"
    }


def test_it_compares_one_environment(cluster: Cluster) -> None:
    done = cluster.run("diff", "--against", "release")
    assert (done.code, "compares one ENV" in done.err) == (2, True)
    done = cluster.run("diff", "prd", "--against", "HEAD", "--context", "x")
    assert "--context is for --against release" in done.err
