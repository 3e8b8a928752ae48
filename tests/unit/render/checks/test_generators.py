"""What a render says of generating policies that the last one had."""

import io
from pathlib import Path

import pytest

from chartkit.documents.reader import Document, read_text
from chartkit.project.project import read_project
from chartkit.render import manifests
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside

_TEXTS = beside(__file__)
QUOTA = _TEXTS["quota"]
RULE = _TEXTS["rule"]
CEL = _TEXTS["cel"]
REFUSING = _TEXTS["refusing"]
OFF = "\npolicies:\n  quota:\n    enabled: false\n"


def _rule(name: str, kind: str = "ResourceQuota", sync: bool = True, orphan: bool = False) -> str:
    switches = {"synchronize": str(sync).lower(), "orphan": str(orphan).lower()}
    return RULE.format(name=name, kind=kind, **switches)


def _write(folder: Path, policy: str) -> None:
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "quota.yaml").write_text(policy)
    (folder / "ours.yaml").write_text(
        "apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata: {name: ours}\n"
        "spec:\n  title: ours\n  policies:\n    quota: {}\n"
    )
    (folder / "chartkit.yaml").write_text(
        "library: [mine]\nprofiles: [./ours.yaml]\nenvironments:\n  team:\n"
        '    kyverno: "1.19"\n    kubernetes: "1.34"\n    engine: false\n'
    )


def _render(folder: Path) -> RenderResult:
    project = read_project(folder)
    return render_project(project, RenderOptions(tuple(project.environments.values())))


def _rows(done: RenderResult) -> list[Row]:
    return [row for row in done.rows if row.check == "risk"]


def _changed(folder: Path, before: str, after: str) -> RenderResult:
    _write(folder, before)
    assert _rows(_render(folder)) == []
    _write(folder, after)
    return _render(folder)


ONE = QUOTA + _rule("a")
CHANGES = (
    (ONE, CEL, "ClusterPolicy quota goes (generates ResourceQuota): Kyverno deletes"),
    (CEL, ONE, "GeneratingPolicy quota goes: Kyverno deletes"),
    (ONE, REFUSING, "ClusterPolicy quota loses a (generates ResourceQuota): Kyverno deletes"),
    (ONE, QUOTA + _rule("b"), "ClusterPolicy quota loses a (generates ResourceQuota): Kyverno"),
    (
        ONE + _rule("b", "LimitRange") + _rule("c", "Secret"),
        QUOTA + _rule("c", "Secret"),
        "ClusterPolicy quota loses a, b (generates ResourceQuota, LimitRange): Kyverno deletes",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after", "message"), CHANGES)
def test_what_takes_its_objects_with_it_is_a_warning(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    done = _changed(tmp_path, before, after)
    [row] = _rows(done)
    assert (row.environment, row.outcome) == ("team", Outcome.WARNING)
    assert row.message.startswith(message)
    assert row.location is not None
    assert row.location.file == str(tmp_path / "rendered/team/kyverno-policies.yaml")
    assert row.hint is not None
    assert "orphanDownstreamOnPolicyDelete" in row.hint
    assert not done.failed
    assert _rows(_render(tmp_path)) == []


@pytest.mark.slow
def test_the_row_has_the_line_of_the_policy_in_the_last_render(tmp_path: Path) -> None:
    _write(tmp_path, ONE)
    _render(tmp_path)
    lines = (tmp_path / "rendered/team/kyverno-policies.yaml").read_text().splitlines()
    _write(tmp_path, CEL)
    [row] = _rows(_render(tmp_path))
    assert row.location is not None
    below = lines[row.location.line - 1 :]
    assert "kind: ClusterPolicy" in below[: below.index("---") if "---" in below else None]


@pytest.mark.slow
def test_one_that_is_switched_off_goes_too(tmp_path: Path) -> None:
    _write(tmp_path, ONE)
    _render(tmp_path)
    values = tmp_path / "charts/kyverno-policies/values_team.yaml"
    values.write_text(values.read_text().rstrip("\n") + OFF)
    [row] = _rows(_render(tmp_path))
    assert row.outcome is Outcome.WARNING


@pytest.mark.slow
def test_what_stays_behind_is_a_note(tmp_path: Path) -> None:
    done = _changed(tmp_path, QUOTA + _rule("a", orphan=True), CEL)
    [row] = _rows(done)
    assert row.outcome is Outcome.NOTE
    assert "stays" in row.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (QUOTA + _rule("a", sync=False), CEL),
        (ONE, ONE + _rule("b")),
        (ONE, ONE.replace("data: {spec: {}}", "data: {spec: {hard: {}}}")),
        (REFUSING, ONE),
    ],
)
def test_changes_that_take_nothing_away(tmp_path: Path, before: str, after: str) -> None:
    assert _rows(_changed(tmp_path, before, after)) == []


@pytest.mark.slow
@pytest.mark.parametrize("text", ["generate: [", "generate\n", "- generate\n", "generate: 1\n"])
def test_manifests_that_cannot_be_read_fail_nothing(tmp_path: Path, text: str) -> None:
    _write(tmp_path, ONE)
    _render(tmp_path)
    (tmp_path / "rendered/team/kyverno-policies.yaml").write_text(text)
    _write(tmp_path, CEL)
    done = _render(tmp_path)
    assert not done.failed
    assert [row.outcome for row in _rows(done)] == [Outcome.NOTE] * text.endswith("[")


def test_only_documents_that_may_generate_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, ONE)
    _render(tmp_path)
    file = tmp_path / "rendered/team/kyverno-policies.yaml"
    rest = io.StringIO()
    for number in range(50):
        rest.write(f"---\nkind: ConfigMap\napiVersion: v1\nmetadata: {{name: c{number}}}\n")
    file.write_text(rest.getvalue() + file.read_text())
    parsed: list[str] = []

    def read(text: str, file: str) -> list[Document]:
        parsed.append(text)
        return read_text(text, file)

    monkeypatch.setattr(manifests, "read_text", read)
    _write(tmp_path, CEL)
    assert len(_rows(_render(tmp_path))) == 1
    assert parsed
    assert not any("ConfigMap" in text for text in parsed)
