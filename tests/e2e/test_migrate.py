"""`chartkit migrate` as a user starts it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import PROGRAM, chartkit
from tests.e2e.transcript import check_page

_TEXTS = beside(__file__)
_TEAM = _TEXTS["team"]
_REST = _TEXTS["rest"]


def _folder(folder: Path) -> Path:
    (folder / "policies").mkdir()
    (folder / "policies" / "require-team.yaml").write_text(_TEAM)
    (folder / "policies" / "shop.yaml").write_text(_REST)
    return folder


@pytest.mark.slow
def test_migrate_policies_page_is_true(tmp_path: Path, update: bool) -> None:
    check_page("how-to/migrate-policies.md", _folder(tmp_path), update)


@pytest.mark.slow
def test_migrate_plan_of_a_folder(tmp_path: Path) -> None:
    done = chartkit(_folder(tmp_path), "migrate", "plan", "policies", "-o", "json")
    body = json.loads(done.out)
    assert (done.code, done.err, body["blocking"]) == (1, "", 3)
    assert [each["origin"]["tool"] for each in body["objects"]] == ["helm", "none", "argocd"]
    assert list(body["types"]) == [
        "cleanup",
        "exception",
        "mutate.patchStrategicMerge",
        "validate.pattern",
    ]


@pytest.mark.slow
def test_migrate_plan_names_bad_input_and_goes_on(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "policies" / "template.yaml").write_text(f"{{{{- if .Values.x }}}}\n{_TEAM}")
    done = chartkit(folder, "migrate", "plan", "policies")
    assert done.code == 2
    assert done.line.startswith("policies/template.yaml:1: error unread: ")
    assert done.out.endswith("will refuse the upgrade: 3 objects\n")
    assert chartkit(folder, "migrate", "plan").code == 2
    assert chartkit(folder, "migrate", "plan", "gone").line.startswith("gone: no such file")


def test_nothing_to_migrate(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    done = chartkit(tmp_path, "migrate", "plan", "pod.yaml")
    assert (done.code, done.err) == (0, "")
    assert "will not refuse the upgrade" in done.out


def test_migrate_values_is_values_migrate(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("replicaCount: 3\n")
    options = ("old.yaml", "--from", "2.5")
    assert chartkit(tmp_path, "migrate", "values", *options) == chartkit(
        tmp_path, "values", "migrate", *options
    )


_HARD = _TEXTS["hard"]


def _one(folder: Path) -> Path:
    (folder / "policies").mkdir()
    (folder / "policies" / "require-owner.yaml").write_text(_HARD)
    return folder


def test_migrate_policies_to_standard_output(tmp_path: Path) -> None:
    folder = _one(tmp_path)
    done = chartkit(folder, "migrate", "policies", "policies", "--proof-seconds", "0.3")
    new, left = done.out.split("---\n")
    assert done.code == 1
    assert new.startswith("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\n")
    assert "# chartkit migrate: not converted: " in left
    assert all(len(line) <= 80 for line in done.err.splitlines())
    assert "ClusterPolicy/require-owner      2          1        0        1  equal\n" in done.err


def test_migrate_policies_in_place(tmp_path: Path) -> None:
    folder = _one(tmp_path)
    file = folder / "policies" / "require-owner.yaml"
    command = ("migrate", "policies", "policies", "--no-prove")
    assert chartkit(folder, *command, "--check").code == 1
    assert file.read_text() == _HARD
    done = chartkit(folder, *command, "--write")
    assert (done.code, done.out) == (1, "")
    once = file.read_text()
    assert once.startswith("apiVersion: policies.kyverno.io/v1\n")
    assert chartkit(folder, *command, "--write").code == 1
    assert file.read_text() == once


def test_migrate_policies_writes_nothing_for_bad_input(tmp_path: Path) -> None:
    folder = _one(tmp_path)
    (folder / "policies" / "template.yaml").write_text(f"{{{{- if .Values.x }}}}\n{_HARD}")
    done = chartkit(folder, "migrate", "policies", "policies", "--write")
    assert (done.code, done.out) == (2, "")
    finding, last = done.err.splitlines()
    assert finding.startswith("policies/template.yaml:1: error unread: ")
    assert last == "nothing was converted: correct these, or name other PATHs"
    assert (folder / "policies" / "require-owner.yaml").read_text() == _HARD
    report = chartkit(folder, "migrate", "policies", "policies", "-o", "json")
    assert json.loads(report.out)["findings"][0]["id"] == "unread"


def test_migrate_policies_reports(tmp_path: Path) -> None:
    folder = _one(tmp_path)
    command = ("migrate", "policies", "policies", "--proof-seconds", "0.3", "-o")
    body = json.loads(chartkit(folder, *command, "json").out)
    (policy,) = body["objects"]
    assert [rule["converted"] for rule in policy["rules"]] == [True, False]
    assert policy["proof"]["equal"]
    assert policy["proof"]["reached"] > 0
    page = chartkit(folder, *command, "markdown").out
    assert "| ClusterPolicy/require-owner | 2 | 1 | 0 | 1 | equal |" in page


def test_policies_become_those_of_kubernetes(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    file = "policies/require-team.yaml"
    done = chartkit(folder, "migrate", "policies", file, "--to", "vap", "--no-prove")
    kinds = [line for line in done.out.splitlines() if line.startswith("kind: ")]
    assert kinds.count("kind: ValidatingAdmissionPolicy") == 3
    assert kinds.count("kind: ValidatingAdmissionPolicyBinding") == 3
    assert "kind: MutatingPolicy" in kinds


_KILLED = """\
import os, signal, sys
left = int(sys.argv.pop(1))
def watch(event, given):
    global left
    if event in ("os.rename", "os.remove"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from chartkit.__main__ import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("target", [("--write",), ("--output", "new")])
@pytest.mark.parametrize("at", [4, 7])
def test_a_killed_migration_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: tuple[str, ...], at: int
) -> None:
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "cache"))
    for name in ("killed", "whole"):
        for number in range(4):
            file = tmp_path / name / "policies" / f"p{number}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_TEAM.replace("name: require-team", f"name: require-team-{number}"))
    command = ("migrate", "policies", "policies", "--no-prove", *target)
    expected = chartkit(tmp_path / "whole", *command)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(at), *command],
        cwd=tmp_path / "killed",
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert _files(tmp_path / "killed") != _files(tmp_path / "whole")
    done = chartkit(tmp_path / "killed", *command)
    note, rest = done.err.split("\n", 1)
    assert note.endswith(" that an interrupted run had written: put back as before it")
    assert (done.code, rest) == (expected.code, expected.err)
    assert _files(tmp_path / "killed") == _files(tmp_path / "whole")


def _files(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes by /proc")
def test_an_interrupted_migration_writes_nothing(tmp_path: Path) -> None:
    for number in range(4):
        text = _TEAM.replace("name: require-team", f"name: require-team-{number}")
        (tmp_path / f"p{number}.yaml").write_text(text)
    before = _files(tmp_path)
    command = ["migrate", "policies", ".", "--write", "--jobs", "2", "--proof-seconds", "60"]
    with subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTIBLE, str(PROGRAM), *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and len(workers := children.read_text().split()) < 2:
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert _files(tmp_path) == before
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


_INTERRUPTIBLE = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execv(sys.argv[1], sys.argv[1:])
"""
