"""What a chart's folder may hold: links stay within it, and files are files."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.catalog.authoring.add import write_files, write_policy
from chartkit.catalog.model import Kind
from chartkit.charts.new_project import write_project
from chartkit.errors import InputError, RenderError
from chartkit.helm import chart_folder
from chartkit.helm.chart_folder import IgnoreRules
from chartkit.helm.model import ChartError
from chartkit.helm.render import lint_chart, render_chart
from chartkit.helm.staging import Stage
from chartkit.network.downloads.lockfile import Lock, Origin, SourceKind, publish
from chartkit.output import atomic_folder, write
from chartkit.output.write import Tree
from tests.data import from_table
from tests.errors import error_of
from tests.unit.helm.conftest import Write

_LOCK = Lock(Origin(SourceKind.FOLDER, "x", "", "0" * 64), {})


def _chart(root: Path) -> None:
    write.publish(Tree(root / "charts/kyverno", {"templates/a.yaml": "a"}), root)


def _manifests(root: Path) -> None:
    write.publish(Tree(root / "rendered/dev", {"kyverno.yaml": "a"}), root)


def _library(root: Path) -> None:
    publish(root / "vendor/ours", {"a.yaml": b"a"}, _LOCK, root)


def _policy(root: Path) -> None:
    (root / "chartkit.yaml").write_text("apiVersion: chartkit.dev/v1\nkind: Project\n")
    write_policy("ours/a", Kind.VALIDATE, root, root / "policies")


def _profile(root: Path) -> None:
    write_files({root / "profiles/ours.yaml": "a: 1\n"}, root)


def _project(root: Path) -> None:
    write_project(root, {"profiles/ours.yaml": "a: 1\n", "chartkit.yaml": "a: 1\n"})


_WRITERS: list[tuple[Callable[[Path], None], str]] = [
    (_chart, "charts"),
    (_chart, "charts/kyverno"),
    (_manifests, "rendered"),
    (_manifests, "rendered/dev"),
    (_library, "vendor"),
    (_library, "vendor/ours"),
    (_policy, "policies"),
    (_policy, "policies/ours"),
    (_profile, "profiles"),
    (_project, "profiles"),
]


def _linked(tmp_path: Path, link: str, target: str) -> tuple[Path, Path]:
    """A project with a link, and the folder that it leads to."""
    root, elsewhere = tmp_path / "project", (tmp_path / "project" / target)
    root.mkdir()
    elsewhere = Path(os.path.normpath(elsewhere))
    elsewhere.mkdir(parents=True, exist_ok=True)
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(os.path.relpath(elsewhere, (root / link).parent))
    return root, elsewhere


@pytest.mark.parametrize(("writer", "link"), _WRITERS)
def test_a_link_that_leads_out_is_refused(
    tmp_path: Path, writer: Callable[[Path], None], link: str
) -> None:
    root, elsewhere = _linked(tmp_path, link, "../elsewhere")
    with pytest.raises(InputError, match="is a link that leads out of the project, to") as caught:
        writer(root)
    assert str(caught.value.location) == str(root / link)
    assert "elsewhere" in caught.value.message
    assert list(elsewhere.iterdir()) == []
    assert (root / link).is_symlink()


@pytest.mark.parametrize(("writer", "link"), _WRITERS)
def test_a_link_within_the_project_is_followed(
    tmp_path: Path, writer: Callable[[Path], None], link: str
) -> None:
    if writer is _policy and link == "policies/ours":
        pytest.skip("the folder of a new policy")
    root, elsewhere = _linked(tmp_path, link, "generated/here")
    writer(root)
    assert [each for each in elsewhere.rglob("*") if each.is_file()]
    assert (root / link).is_symlink()


@pytest.mark.parametrize("target", ["link", "../project/link", "other"])
def test_a_link_that_leads_nowhere(tmp_path: Path, target: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "link").symlink_to(target)
    (root / "other").symlink_to("link")
    with pytest.raises(InputError, match="a broken link"):
        atomic_folder.require_inside(root / "link" / "kyverno", root)


def test_a_project_behind_a_link_and_folders_named_outside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").symlink_to("real")
    (tmp_path / "way").symlink_to("outside")
    root = tmp_path / "project"
    atomic_folder.require_inside(root / "charts" / "kyverno", root)
    atomic_folder.require_inside(root / "../way/charts", root)


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_in_a_chart_for_a_folder_of_generated_files(tmp_path: Path, inside: bool) -> None:
    elsewhere = tmp_path / ("project/other" if inside else "elsewhere")
    elsewhere.mkdir(parents=True)
    chart = tmp_path / "project/charts/kyverno"
    chart.mkdir(parents=True)
    (chart / "templates").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a link") as caught:
        _chart(tmp_path / "project")
    assert str(caught.value.location) == str(chart / "templates")
    assert list(elsewhere.iterdir()) == []


def test_a_link_for_a_generated_file_is_replaced(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("kept")
    chart = tmp_path / "project/charts/kyverno/templates"
    chart.mkdir(parents=True)
    (chart / "a.yaml").symlink_to(other)
    _chart(tmp_path / "project")
    assert other.read_text() == "kept"
    assert (chart / "a.yaml").read_text() == "a"


def refusal(chart: Path, tmp_path: Path) -> str:
    copies = tmp_path / "copies"
    copies.mkdir(exist_ok=True)
    with pytest.raises(ChartError) as caught:
        Stage(copies).staged(chart)
    return f"{caught.value.file}: {caught.value.message}"


def archive(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return made.getvalue()


SUB = {
    "sub/Chart.yaml": b"apiVersion: v2\nname: sub\nversion: 1.0.0\n",
    "sub/templates/a.yaml": b"apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
}


@from_table("link", "target")
def test_links_that_lead_out_are_refused(
    chart: Write, tmp_path: Path, link: str, target: str
) -> None:
    (tmp_path / "outside.yaml").write_text("a: secret\n")
    (tmp_path / "other").mkdir()
    folder = chart()
    (folder / link).parent.mkdir(parents=True, exist_ok=True)
    (folder / link).symlink_to(target)
    found = refusal(folder, tmp_path)
    assert found == f"{link}: is a link that leads out of the chart, to {target}"


@pytest.mark.usefixtures("backend")
def test_both_helms_refuse_a_link_with_its_place(chart: Write) -> None:
    folder = chart({"templates/a.yaml": 'a: {{ .Files.Get "passwd" }}'})
    (folder / "passwd").symlink_to("/etc/passwd")
    for ask in (render_chart, lint_chart):
        assert str(error_of(RenderError, ask, folder).location) == str(folder / "passwd")


@pytest.mark.usefixtures("backend")
def test_links_that_stay_in_the_chart_are_followed(chart: Write) -> None:
    folder = chart({"files/a.txt": "inside", "more/templates/x.txt": "y"})
    (folder / "link.txt").symlink_to("files/a.txt")
    (folder / "files2").symlink_to(folder / "files")
    template = '{{ .Files.Get "link.txt" }}{{ .Files.Get "files2/a.txt" }}'
    (folder / "templates" / "c.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {template}}}\n"
    )
    names = {each.name for each in render_chart(folder).resources}
    assert names == {"p", "insideinside"}


def test_links_in_circles_end(chart: Write, tmp_path: Path) -> None:
    folder = chart({"a/x": "", "b/x": ""})
    (folder / "a" / "up").symlink_to("..")
    assert refusal(folder, tmp_path) == "a/up: is a link that leads in a circle"
    (folder / "a" / "up").unlink()
    (folder / "a" / "b").symlink_to("../b")
    (folder / "b" / "a").symlink_to("../a")
    assert refusal(folder, tmp_path).endswith("is a link that leads in a circle")
    (folder / "b" / "a").unlink()
    (folder / "b" / "me").symlink_to("me")
    assert "b/me: is a link that cannot be followed" in refusal(folder, tmp_path)


def test_links_that_multiply_end(
    chart: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_folder, "MOST_FILES", 500)
    folder = chart({"d0/x": ""})
    for level in range(1, 30):
        (folder / f"d{level}").mkdir()
        for side in "ab":
            (folder / f"d{level}" / side).symlink_to(f"../d{level - 1}")
    assert refusal(folder, tmp_path) == ": has more than 500 files"


def test_what_is_no_file_is_refused(chart: Write, tmp_path: Path) -> None:
    folder = chart()
    os.mkfifo(folder / "values.schema.json")
    assert refusal(folder, tmp_path) == "values.schema.json: is neither a file nor a folder"


def test_much_is_refused(chart: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_folder, "MOST_BYTES", 1000)
    assert "of files" in refusal(chart({"large": "x" * 1001}), tmp_path)


def test_what_is_ignored_may_lead_anywhere(chart: Write) -> None:
    folder = chart({".helmignore": "node_modules/\n*.secret\n"})
    (folder / "node_modules").symlink_to("/etc")
    (folder / "a.secret").symlink_to("/etc/passwd")
    (folder / "b.secret").symlink_to("nowhere")
    assert [each.name for each in render_chart(folder).resources] == ["p"]


@pytest.mark.usefixtures("backend")
def test_packed_subcharts_are_rendered(chart: Write) -> None:
    inner = archive({**SUB, "sub/crds/c.yaml": b"apiVersion: v1\nkind: C\nmetadata: {name: c}\n"})
    found = render_chart(chart({"charts/sub-1.0.0.tgz": inner}))
    assert {each.kind for each in found.resources} == {"Pod", "Service"}
    assert [str(each.location) for each in found.crds] == [f"{chart()}/charts/sub/crds/c.yaml:1"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../../passwd", "../other/x"])
def test_links_in_archives_that_lead_out_are_refused(
    chart: Write, tmp_path: Path, target: str
) -> None:
    content = archive(SUB, {"sub/link": target})
    found = refusal(chart({"charts/sub.tgz": content}), tmp_path)
    assert (
        found
        == f"charts/sub.tgz: holds the link 'sub/link', which leads out of the chart, to {target}"
    )
    packed = archive({**SUB, "sub/charts/in.tgz": content})
    found = refusal(chart({"charts/sub.tgz": packed}), tmp_path)
    assert found.startswith("charts/sub.tgz/charts/in.tgz: holds the link")


def test_a_link_in_an_archive_that_stays_there_is_an_empty_file(chart: Write) -> None:
    content = archive(SUB, {"sub/link": "templates/a.yaml"})
    assert len(render_chart(chart({"charts/sub.tgz": content})).resources) == 2


def test_an_archive_that_cannot_be_read(chart: Write, tmp_path: Path) -> None:
    for content in (b"no archive", archive(SUB)[:60], archive({"x": b"1"})):
        assert refusal(chart({"charts/sub.tgz": content}), tmp_path).startswith("charts/sub.tgz: ")


def test_a_copy_is_made_anew_when_the_chart_changes(chart: Write) -> None:
    folder = chart()
    assert [each.name for each in render_chart(folder).resources] == ["p"]
    text = (folder / "templates" / "pod.yaml").read_text()
    (folder / "templates" / "pod.yaml").write_text(text.replace("name: p", "name: changed"))
    assert [each.name for each in render_chart(folder).resources] == ["changed"]


def test_links_that_stay_in_the_checkout_are_followed(chart: Write, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("url: secret\n")
    for name, content in SUB.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    folder = chart()
    (folder / "charts").mkdir(exist_ok=True)
    (folder / "charts" / "sub").symlink_to(tmp_path / "sub")
    assert {each.name for each in render_chart(folder).resources} >= {"s"}
    (folder / "config").symlink_to(tmp_path / ".git" / "config")
    assert refusal(folder, tmp_path).startswith("config: is a link that leads out of the chart")


@from_table("rules", "name", "folder", "expected")
def test_ignore_rules(rules: str, name: str, folder: bool, expected: bool) -> None:
    assert IgnoreRules(rules)(name, folder) is expected
