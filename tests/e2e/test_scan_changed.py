"""`chartkit scan --changed-since`: only what changed is judged, unless the change may alter other
verdicts."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit
from tests.e2e.test_gate import POLICIES, pod

SELECTING = POLICIES.replace(
    "kinds: [Pod]}", "kinds: [Pod], namespaceSelector: {matchLabels: {guarded: 'yes'}}}"
)
COUNTING = beside(__file__)["counting"]
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {guarded: 'no'}}\n"
CHART = "apiVersion: v2\nname: shop\nversion: 0.1.0\n"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policies.yaml").write_text(POLICIES)
    (tmp_path / "pods").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "pods" / f"{name}.yaml").write_text(pod(name))
    (tmp_path / "pods" / "namespace.yaml").write_text(NAMESPACE)
    git(tmp_path, "init", "-q", ".")
    commit(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")


def judged(folder: Path, *options: str) -> tuple[set[str], str]:
    """Return the names of the objects that have results, and what standard error says."""
    options = ("pods", "-p", "policies.yaml", "--changed-since", "HEAD", *options)
    done = chartkit(folder, "scan", *options, "-o", "json")
    assert done.code in (0, 1), done.err
    results = json.loads(done.out)["results"]
    return {each["resource"].rpartition("/")[2] for each in results}, done.err


def change(folder: Path, name: str, before: str = ":1", after: str = ":2") -> None:
    file = folder / name
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_only_changed_and_new_files_are_judged(folder: Path) -> None:
    assert judged(folder) == (set(), "judged 0 objects of files that changed\n")
    change(folder, "pods/b.yaml")
    (folder / "pods" / "d.yaml").write_text(pod("d"))
    assert judged(folder) == ({"b", "d"}, "judged 2 objects of files that changed\n")
    # A file with its former content, and one that is staged.
    change(folder, "pods/b.yaml", ":2", ":1")
    git(folder, "add", "-A")
    assert judged(folder)[0] == {"d"}


def _remove(folder: Path) -> None:
    (folder / "pods" / "c.yaml").unlink()


def _label(folder: Path) -> None:
    change(folder, "pods/namespace.yaml", "'no'", "'yes'")


def _unlabel(folder: Path) -> None:
    (folder / "pods" / "namespace.yaml").write_text(pod("e"))


def _policy(folder: Path) -> None:
    change(folder, "policies.yaml", "high", "low")


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        (_remove, "was removed"),
        (_label, "a file with a Namespace has changed"),
        (_unlabel, "a file with a Namespace has changed"),
        (_policy, "policies.yaml has changed"),
    ],
)
def test_changes_that_matter_to_others_judge_all(
    folder: Path, alter: Callable[[Path], None], reason: str
) -> None:
    alter(folder)
    names, said = judged(folder)
    assert {"a", "b"} <= names
    assert reason in said


@pytest.mark.slow
def test_policies_that_ask_for_other_objects_judge_all(folder: Path) -> None:
    (folder / "policies.yaml").write_text(COUNTING)
    commit(folder)
    assert judged(folder)[0] == set()
    (folder / "pods" / "d.yaml").write_text(pod("d"))
    names, said = judged(folder)
    assert names == {"a", "b", "c", "d"}
    assert "policies ask for other objects" in said


def test_unchanged_namespaces_are_known(folder: Path) -> None:
    (folder / "policies.yaml").write_text(SELECTING)
    change(folder, "pods/namespace.yaml", "'no'", "'yes'")
    commit(folder)
    change(folder, "pods/a.yaml")
    done = chartkit(
        folder, "scan", "pods", "-p", "policies.yaml", "--changed-since", "HEAD", "-o", "json"
    )
    results = json.loads(done.out)["results"]
    assert "disallow-privileged" in {each["policy"] for each in results}


def test_chart_is_judged_where_any_of_its_files_changed(folder: Path) -> None:
    chart = folder / "pods" / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(CHART)
    (chart / "values.yaml").write_text("tag: '1'\n")
    text = pod("web").replace(":1", ":{{ .Values.tag }}")
    (chart / "templates" / "pod.yaml").write_text(text)
    commit(folder)
    change(folder, "pods/a.yaml")
    assert judged(folder)[0] == {"a"}
    (chart / "values.yaml").write_text("tag: '2'\n")
    assert judged(folder)[0] == {"a", "web"}


def test_rest_of_the_baseline_is_not_stale(folder: Path) -> None:
    known = ("--baseline", "known.yaml")
    chartkit(folder, "scan", "pods", "-p", "policies.yaml", *known, "--update-baseline")
    commit(folder)
    text = (folder / "known.yaml").read_text()
    change(folder, "pods/a.yaml", "privileged: true", "privileged: false")
    options = ("scan", "pods", "-p", "policies.yaml", *known, "--changed-since", "HEAD")
    done = chartkit(folder, *options, "--fail-on-stale")
    assert done.code == 1
    assert done.err.count("CK602") == 1
    assert "v1/Pod/shop/a" in done.err
    chartkit(folder, *options, "--update-baseline")
    lines = set((folder / "known.yaml").read_text().splitlines())
    assert set(text.splitlines()) - lines == {"    object: v1/Pod/shop/a"}
    # A baseline that lost an entry lets nothing new pass.
    commit(folder)
    (folder / "known.yaml").write_text(text.replace("shop/b", "shop/other"))
    assert chartkit(folder, *options).code == 1


def test_mistakes_are_errors_with_a_way_out(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    wrong = chartkit(folder, "scan", "pods", "-p", "policies.yaml", "--changed-since", "nowhere")
    assert wrong.code == 2
    assert "there is no commit 'nowhere'" in wrong.line
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.yaml").write_text(pod("a"))
    none = chartkit(outside, "scan", "a.yaml", "--changed-since", "HEAD")
    assert none.code == 2
    assert "is in no git checkout" in none.line
