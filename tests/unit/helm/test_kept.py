"""Answers of Helm that are kept: for equal charts, values and clusters alone, never by chance."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.errors import RenderError
from chartkit.helm import kept
from chartkit.helm.kept import KeptResults
from chartkit.helm.model import DryRun, Finding, Target, Texts
from chartkit.model import Body
from tests.files import write_files

TARGET = Target("app", "default", "v1.34.0", ("a/v1",))
FILES = {
    "Chart.yaml": "name: app\n",
    "values.yaml": "a: 1\n",
    "templates/_helpers.tpl": "",
    "templates/a.yaml": "a: {{ .Values.a }}\n",
    "README.md": "text\n",
}


class Helm:
    """A backend that counts its answers."""

    def __init__(self, message: str = "m", text: str = "a: 1\n") -> None:
        self.calls: list[str] = []
        self._message, self._text = message, text

    def within(self, _limits: object) -> Helm:
        return self

    def start(self) -> None:
        self.calls.append("start")

    def close(self) -> None:
        self.calls.append("close")

    def render(self, *_: object) -> Texts:
        self.calls.append("render")
        return Texts({"app/templates/a.yaml": self._text}, ("a warning",))

    def admit(self, _: Path, target: Target) -> None:
        self.calls.append("admit")
        if target.kube_version == "v1.0.0":
            raise RenderError("too old")

    def dry_run(self, *_: object) -> DryRun:
        self.calls.append("dry_run")
        return DryRun("notes", "manifest")

    def lint(self, *_: object) -> list[Finding]:
        self.calls.append("lint")
        return [Finding(2, "templates/a.yaml", self._message)]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "code_digest", lambda: "code")


def copy(folder: Path, **more: str) -> Path:
    """Return a copy of the chart, each in a folder of its own."""
    chart = folder / str(len(list(folder.iterdir()))) / "app"
    return write_files(chart, {**FILES, **more})


def ask(
    chart: Path,
    values: Body | None = None,
    target: Target = TARGET,
    helm: Helm | None = None,
    identity: str = "helm",
) -> list[str]:
    """Ask everything twice; return what was asked of Helm, and see that both answers are equal."""
    helm = helm or Helm()
    found = []
    for _ in range(2):
        known = KeptResults(helm, identity)
        known.start()
        known.admit(chart, target)
        found.append(
            (
                known.render(chart, values or {}, target),
                known.dry_run(chart, values or {}, target),
                known.lint(chart, values or {}, target),
                known.lint(chart, values or {}, target, False),
            )
        )
    assert found[0] == found[1]
    return helm.calls


ALL = ["admit", "render", "dry_run", "lint", "lint"]


def test_equal_questions_are_asked_once(tmp_path: Path) -> None:
    assert ask(copy(tmp_path)) == ALL
    assert ask(copy(tmp_path)) == []


_OTHERS: dict[str, Callable[[Path], list[str]]] = {
    "a template": lambda folder: ask(copy(folder, **{"templates/a.yaml": "b: 1\n"})),
    "a file": lambda folder: ask(copy(folder, **{"data/a": ""})),
    "a text": lambda folder: ask(copy(folder, **{"README.md": "more\n"})),
    "values": lambda folder: ask(copy(folder), {"a": 2}),
    "the release": lambda folder: ask(copy(folder), target=Target("b", "default", "v1.34.0")),
    "the cluster": lambda folder: ask(copy(folder), target=Target("app", "default", "v1.35.0")),
    "its kinds": lambda folder: ask(copy(folder), target=Target("app", "default", "v1.34.0")),
    "Helm": lambda folder: ask(copy(folder), identity="other"),
}


@pytest.mark.parametrize("other", _OTHERS.values(), ids=list(_OTHERS))
def test_other_questions_are_asked(tmp_path: Path, other: Callable[[Path], list[str]]) -> None:
    ask(copy(tmp_path))
    assert [each for each in other(tmp_path) if each != "admit"] == ALL[1:]


@pytest.mark.parametrize("around", ["code", "zone"])
def test_what_is_around_helm_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, around: str
) -> None:
    ask(copy(tmp_path))
    if around == "code":
        monkeypatch.setattr(kept, "code_digest", lambda: "other")
    else:
        monkeypatch.setenv("TZ", "Asia/Tokyo" if os.environ.get("TZ") != "Asia/Tokyo" else "UTC")
    assert ask(copy(tmp_path)) == ALL


CHANCE = "a: {{ randAlpha 5 }}\n"


@pytest.mark.parametrize(
    ("files", "values", "is_kept"),
    [
        ({"templates/a.yaml": CHANCE}, {}, False),
        ({"templates/b.yaml": CHANCE}, {}, True),
        ({"templates/_helpers.tpl": CHANCE}, {}, False),
        ({"data/a.txt": CHANCE}, {}, False),
        ({"charts/b.tgz": ""}, {}, False),
        ({"charts/b/templates/b.yaml": CHANCE}, {}, False),
        ({}, {"a": ["{{ now }}"]}, False),
        ({}, {"a": ["now"]}, True),
    ],
    ids=["shown", "of which nothing is left", "helper", "data", "packed", "part", "values", "word"],
)
def test_what_chance_decides_is_asked_again(
    tmp_path: Path, files: dict[str, str], values: Body, is_kept: bool
) -> None:
    again = [] if is_kept else ALL[1:]
    assert ask(copy(tmp_path, **files), values) == [*ALL, *again]


def test_an_error_is_raised_again(tmp_path: Path) -> None:
    chart, helm, old = copy(tmp_path), Helm(), Target("app", "default", "v1.0.0")
    for _ in range(2):
        with pytest.raises(RenderError, match="too old"):
            KeptResults(helm, "helm").admit(chart, old)
    assert helm.calls == ["admit", "admit"]


def test_an_answer_that_speaks_of_the_copy_is_asked_again(tmp_path: Path) -> None:
    chart = copy(tmp_path)
    assert ask(chart, helm=Helm(f"{chart}/templates: m")) == [*ALL, "lint", "lint"]
