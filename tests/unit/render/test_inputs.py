"""The digest of all that a render depends on: each kind of input changes it, and nothing else is
read."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from chartkit import cache_folder
from chartkit.model import Json
from chartkit.project.project import read_project
from chartkit.render import cache
from chartkit.render.cache import inputs_digest, workload_files
from tests.data import beside
from tests.files import write_files

_TEXTS = beside(__file__)
PROJECT = _TEXTS["project"]
PROFILE = _TEXTS["profile"]
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
FILES = {
    "chartkit.yaml": PROJECT,
    "small.yaml": PROFILE.replace("NAME", "small") + "  extends: [./more/other.yaml]\n",
    "more/other.yaml": PROFILE.replace("NAME", "other"),
    "versions.yaml": "kyverno: []\n",
    "own/group/mine/policy.yaml": OBJECT,
    "vendor/theirs/policy.yaml": OBJECT,
    "apps/deep/app.yaml": OBJECT,
    "apps/overlay/kustomization.yaml": "namePrefix: a-\nresources: [../../base]\n",
    "base/kustomization.yaml": "resources: [app.yaml]\n",
    "base/app.yaml": OBJECT,
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    "chart/templates/a.yaml": OBJECT,
    "app-values.yaml": "a: 1\n",
    "engine.yaml": "features: {}\n",
    "exceptions/one.yaml": OBJECT,
    "baseline.yaml": "apiVersion: chartkit.dev/v1\nkind: Baseline\nviolations: []\n",
    "charts/kyverno-policies/values.yaml": "a: 1\n",
    "charts/kyverno-policies/.chartkit/files.json": "{}\n",
    "rendered/dev/kyverno-policies.yaml": OBJECT,
    "kustomize/kyverno-policies/base/objects.yaml": OBJECT,
    "gitops/flux/dev.yaml": OBJECT,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path, FILES)
    monkeypatch.setenv("CHARTKIT_HELM", "library")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def digest(folder: Path, *workloads: str, **options: Json) -> str | None:
    return inputs_digest(read_project(folder), [Path(each) for each in workloads], options)


@pytest.mark.parametrize("name", FILES)
def test_a_file_counts_by_its_content(folder: Path, name: str) -> None:
    before, file = digest(folder), folder / name
    assert before is not None
    text = file.read_text()
    os.utime(file, (1, 1))
    assert digest(folder) == before
    file.write_text(f"{text}# more\n" if name.endswith(".yaml") else f"{text} ")
    assert digest(folder) not in (None, before)
    file.write_text(text)
    assert digest(folder) == before


@pytest.mark.parametrize("name", sorted({*FILES} - {"chartkit.yaml", "versions.yaml"}))
def test_a_file_counts_by_its_place(folder: Path, name: str) -> None:
    before, file = digest(folder), folder / name
    file.rename(folder / "elsewhere")
    assert digest(folder) not in (None, before)
    (folder / "elsewhere").rename(file)
    assert digest(folder) == before
    moved = file.with_name("moved-here")
    moved.symlink_to(file)
    is_alone = file.parent in (folder, folder / "more", folder / "base")
    assert (digest(folder) == before) is is_alone
    moved.unlink()
    target = folder / "target"
    target.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(target)
    assert digest(folder) not in (None, before)


def _other_helm(folder: Path, patch: pytest.MonkeyPatch) -> None:
    program = folder / "helm"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    patch.setenv("CHARTKIT_HELM", str(program))


def _cluster_package(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / "site" / "helm_python_sdk-9.9.dist-info").mkdir(parents=True)
    patch.syspath_prepend(folder / "site")
    _forget()


def _forget() -> None:
    cache_folder.program_digest.cache_clear()
    cache_folder.code_digest.cache_clear()


_AROUND: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "the day": lambda _, patch: patch.setattr(cache, "today", lambda: date(2100, 1, 1)),
    "the time zone": lambda _, patch: patch.setenv("TZ", "Asia/Tokyo"),
    "the current folder": lambda folder, patch: patch.chdir(folder / "own"),
    "Helm": _other_helm,
    "a package": _cluster_package,
    "the program": lambda _, patch: patch.setattr(cache, "program_digest", lambda: "other"),
}


@pytest.mark.parametrize("change", _AROUND.values(), ids=list(_AROUND))
def test_what_is_around_counts(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path, pytest.MonkeyPatch], object],
) -> None:
    before = digest(folder)
    try:
        change(folder, monkeypatch)
        assert digest(folder) not in (None, before)
    finally:
        _forget()


def test_the_options_count(folder: Path) -> None:
    given: list[dict[str, Json]] = [
        {},
        {"check": True},
        {"prefer": "edits"},
        {"environments": ["dev", "qa"]},
        {"environments": ["qa", "dev"]},
    ]
    found = [digest(folder, **each) for each in given]
    found.append(digest(folder, "more/other.yaml"))
    (folder / "more" / "other.yaml").write_text(PROFILE)
    found.append(digest(folder, "more/other.yaml"))
    assert len({*found, None}) == len(found) + 1


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "apps" / "pipe.yaml")


def _circle(folder: Path) -> None:
    (folder / "apps" / "deep" / "again").symlink_to(folder / "apps")


def _left_behind(folder: Path) -> None:
    (folder / "charts" / ".kyverno.chartkit-new-12ab").mkdir()


def _unreadable_profile(folder: Path) -> None:
    (folder / "more" / "other.yaml").write_text("{")


def _endless_profile(folder: Path) -> None:
    (folder / "more" / "other.yaml").write_text(FILES["small.yaml"].replace("more/", ""))


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes and links")
@pytest.mark.parametrize(
    "change", [_pipe, _circle, _left_behind, _unreadable_profile, _endless_profile]
)
def test_what_cannot_be_told_has_no_digest(folder: Path, change: Callable[[Path], None]) -> None:
    assert digest(folder) is not None
    change(folder)
    assert digest(folder) is None


@pytest.mark.parametrize("name", ["helm", "mise"])
def test_a_helm_that_picks_another_has_no_digest(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program = folder / name
    program.write_bytes(b"#!/bin/sh\n" if name == "helm" else b"\x7fELF")
    program.chmod(0o755)
    monkeypatch.setenv("CHARTKIT_HELM", str(program))
    assert digest(folder) is None


def test_too_much_has_no_digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_FILES", 5)
    assert digest(folder) is None
    monkeypatch.setattr(cache, "_MOST_FILES", 500)
    monkeypatch.setattr(cache, "_MOST_BYTES", 50)
    assert digest(folder) is None


_WATCH = """
import json, os, sys
from pathlib import Path
from chartkit.project.project import read_project
from chartkit.render import cache, pipeline
from chartkit.render.checks.run import check_environment
from chartkit.render.model import written_folders
from chartkit.render.pipeline import RenderOptions, render_project

root, touched = Path.cwd(), set()

def note(path):
    if isinstance(path, (str, bytes, os.PathLike)):
        # What is relative is in a temporary folder that is cleared, whose handle is given.
        path = os.fsdecode(path)
        touched.update([os.path.normpath(path)] if os.path.isabs(path) else [])

def watched(function):
    def call(path, *rest, **more):
        note(path)
        return function(path, *rest, **more)
    return call

sys.addaudithook(lambda event, given: note(given[0]) if event in EVENTS else None)
EVENTS = {"open", "os.listdir", "os.scandir"}
os.stat, os.lstat = watched(os.stat), watched(os.lstat)
project = read_project(root)
every = tuple(project.environments.values())

def check(subject, *rest):
    # Note what is read that the key of the environment does not name.
    before = set(touched)
    touched.clear()
    found = check_environment(subject, *rest)
    env = subject.environment
    own = [*cache._paths(project, (env,)), root / "rendered" / env.file_name]
    strange.update(unknown(touched, map(os.path.abspath, own)))
    touched.update(before)
    return found

def unknown(paths, known):
    known = list(known)
    return [
        each for each in paths
        if each.startswith(str(root) + os.sep)
        and each != str(root / ".git")  # the end of what kustomizations may refer to
        and not any((each + os.sep).startswith(one + os.sep) or one.startswith(each + os.sep)
                    for one in known)
    ]

strange, pipeline.check_environment = set(), check
result = render_project(project, RenderOptions(tuple(project.environments.values()), check=True))
seen = {each for each in touched if each.startswith(str(root) + os.sep)}
folders = written_folders(project)
known = [os.path.abspath(each) for each in (*cache._paths(project, every), *folders)]
print(json.dumps({
    "rows": len(result.rows),
    "seen": sorted(seen),
    "unknown": sorted(unknown(seen, known)),
    "of others": sorted(strange),
}))
"""


@pytest.mark.slow
def test_a_render_reads_nothing_of_the_project_but_its_inputs(tmp_path: Path) -> None:
    pod = OBJECT.replace("ConfigMap", "Pod") + "spec: {containers: [{name: c, image: a:1}]}\n"
    files = {
        **FILES,
        "chartkit.yaml": PROJECT.replace("library: [own]\n", "").replace(
            "    engineValues: [engine.yaml]\n    exceptions: [exceptions]\n", "    engine: false\n"
        ),
        "apps/deep/app.yaml": pod,
        "chart/templates/a.yaml": pod,
        "charts/kyverno-policies/values.yaml": "{}\n",
        "charts/kyverno-policies/.chartkit/files.json": '{"files": {}}\n',
        "more.yaml": pod,
    }
    files["chartkit.yaml"] += _TEXTS["other"]
    for name, text in files.items():
        if not name.startswith("vendor"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", _WATCH],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"]
    read = {Path(each).relative_to(tmp_path).as_posix() for each in found["seen"]}
    expected = {
        "more/other.yaml",
        "apps/deep/app.yaml",
        "app-values.yaml",
        "vendor",
        "versions.yaml",
    }
    assert read >= {*expected, "chart/templates/a.yaml", "baseline.yaml"}
    assert not found["unknown"]
    assert not found["of others"]


@pytest.mark.parametrize("hidden", ["large", "many"])
def test_workloads_that_are_too_much_to_compare_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    environments = read_project(folder / "chartkit.yaml").environments.values()
    assert workload_files(environments, [])
    monkeypatch.setattr(cache, "_MOST_BYTES" if hidden == "large" else "_MOST_FILES", 1)
    assert workload_files(environments, []) is None
