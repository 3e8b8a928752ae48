"""Upstream's charts: taken from anywhere, in one step, and locked."""

import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.charts.upstream.vendored import VendoredNow, read_vendored, vendor_chart
from chartkit.errors import InputError
from chartkit.network.downloads.lockfile import LOCK_FILE, Limits, SourceKind, digest, read_lock
from tests.data import from_table
from tests.e2e.command import snapshot
from tests.files import write_files
from tests.hasty import first, hasty
from tests.unit.charts.upstream.vendored_files import (
    chart,
    index,
    packed_chart,
    repository,
    with_subchart,
)
from tests.unit.network.downloads.archive_files import special, tar_of, zeros_bomb
from tests.unit.network.downloads.hostile_server import (
    CALM,
    STEADY,
    Answer,
    body,
    flood,
    hang,
    in_turn,
    quick,
    redirect,
    serving,
    trickle,
)

_ARCHIVE = "/kyverno-3.9.0.tgz"
_CALM = replace(CALM, archive=3_000_000)


def _take(
    project: Path,
    source: str,
    version: str = "3.9.0",
    name: str = "kyverno",
    limits: Limits = _CALM,
) -> VendoredNow:
    return vendor_chart(name, version, project, source, limits)


def _refused(
    project: Path, source: str, version: str = "3.9.0", limits: Limits = _CALM
) -> InputError:
    before = snapshot(project)
    with pytest.raises(InputError) as caught:
        _take(project, source, version, limits=limits)
    assert "\n" not in str(caught.value)
    assert snapshot(project) == before
    return caught.value


def _is_whole(project: Path, files: dict[str, bytes]) -> None:
    folder = project / "vendor" / "charts" / "kyverno"
    found = snapshot(folder)
    locked = read_lock(folder)
    assert found.pop(LOCK_FILE)
    assert found == files
    assert locked.files == {name: digest(content) for name, content in files.items()}
    assert list(read_vendored(project)) == ["kyverno"]
    assert {each.name for each in (project / "vendor" / "charts").iterdir()} == {"kyverno"}


def test_takes_a_chart_from_a_repository(tmp_path: Path) -> None:
    with serving(repository(chart(), chart(version="3.8.1", app="v1.18.1"))) as server:
        for url in (server.url, f"{server.url}/"):
            done = _take(tmp_path, url, "v3.9.0")
        assert server.asked[:2] == ["/index.yaml", _ARCHIVE]
        origin = read_lock(done.folder).origin
        assert (origin.kind, origin.ref) == (SourceKind.REPOSITORY, "3.9.0")
        assert origin.revision == digest(packed_chart(chart()))
        assert (done.changed, done.replaced) == (False, "3.9.0")
    _is_whole(tmp_path, chart())


def test_the_archive_may_stand_elsewhere(tmp_path: Path) -> None:
    content = packed_chart(chart())
    with serving({"/a": redirect("/b"), "/b": body(content)}) as other:
        answers = {
            "/charts/index.yaml": body(index("kyverno", {"3.9.0": (content, f"{other.url}/a")}))
        }
        with serving(answers) as server:
            _take(tmp_path, f"{server.url}/charts")
    _is_whole(tmp_path, chart())


@pytest.mark.parametrize("fault", [hang, body(b"x", length=9), body(b"", "503 No")])
def test_vendoring_what_may_pass_is_tried_again(
    tmp_path: Path, fault: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = repository(chart())
    with serving({path: in_turn(fault, answer) for path, answer in answers.items()}) as server:
        hasty(monkeypatch, first(server.asked))
        assert _take(tmp_path, server.url, limits=STEADY).changed
    _is_whole(tmp_path, chart())


@pytest.mark.parametrize("packed", [True, False])
def test_takes_archives_and_folders(tmp_path: Path, packed: bool) -> None:
    files = with_subchart(chart(), packed)
    (tmp_path / "project").mkdir()
    archive = tmp_path / "kyverno.tgz"
    archive.write_bytes(packed_chart(files))
    done = _take(tmp_path / "project", str(archive))
    assert done.lock.origin.kind is SourceKind.ARCHIVE
    _is_whole(tmp_path / "project", files)
    folder = write_files(tmp_path / "source", files)
    assert not _take(tmp_path / "project", str(folder)).changed
    assert "charts/extra/templates/config.yaml" in done.chart.files


def test_vendoring_takes_an_archive_by_url(tmp_path: Path) -> None:
    with serving({"/x/kyverno.tgz": body(packed_chart(chart()))}) as server:
        done = _take(tmp_path, f"{server.url}/x/kyverno.tgz")
    assert done.lock.origin.kind is SourceKind.ARCHIVE
    _is_whole(tmp_path, chart())


def test_another_version_takes_the_place(tmp_path: Path) -> None:
    new, old = chart(), chart(version="3.8.1", app="v1.18.1")
    del new["README.md"]
    with serving(repository(new, old)) as server:
        assert _take(tmp_path, server.url, "3.8.1").replaced == ""
        done = _take(tmp_path, server.url)
    assert (done.replaced, done.changed) == ("3.8.1", True)
    _is_whole(tmp_path, new)


def test_a_version_that_has_changed_is_refused(tmp_path: Path) -> None:
    with serving(repository(chart())) as server:
        _take(tmp_path, server.url)
    with serving(repository({**chart(), "README.md": b"other"})) as server:
        error = _refused(tmp_path, server.url)
    assert error.message.startswith("version 3.9.0 has changed since it was vendored: its SHA-256")
    assert str(error.location).endswith(LOCK_FILE)


def test_a_version_that_has_changed_in_a_folder_is_refused(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", chart())
    _take(tmp_path, str(source))
    (source / "README.md").write_text("other")
    assert _refused(tmp_path, str(source)).message.endswith("has changed since it was vendored")


def test_what_was_changed_by_hand_is_put_back_or_kept(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", chart())
    _take(tmp_path, str(source))
    readme = tmp_path / "vendor/charts/kyverno/README.md"
    readme.write_text("mine")
    newer = write_files(tmp_path / "newer", chart(version="3.9.1"))
    assert _refused(tmp_path, str(newer), "3.9.1").location is not None
    assert _take(tmp_path, str(source)).changed
    _is_whole(tmp_path, chart())


def _server(answers: dict[str, Answer], project: Path, limits: Limits = _CALM) -> InputError:
    with serving({**repository(chart()), **answers}) as server:
        return _refused(project, server.url, limits=limits)


def test_a_tampered_archive_is_refused(tmp_path: Path) -> None:
    tampered = packed_chart({**chart(), "templates/evil.yaml": b"x"})
    error = _server({_ARCHIVE: body(tampered)}, tmp_path)
    assert error.message.startswith("is not what the index says: its SHA-256 is ")
    assert str(error.location).endswith(_ARCHIVE)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (hang, "the server sent nothing for 0.4 seconds, in 2 attempts"),
        (trickle, "the server did not finish within 1 seconds, in 2 attempts"),
        (
            body(packed_chart(chart())[:200], length=9999),
            "the server cut the answer after 200 bytes",
        ),
        (flood, "is larger than 3,000,000 bytes"),
        (body(b"", "404 Not Found"), "the server answers 404"),
    ],
    ids=["hang", "trickle", "cut", "flood", "404"],
)
@pytest.mark.parametrize("path", ["/index.yaml", _ARCHIVE])
def test_a_server_that_fails(
    tmp_path: Path, path: str, answer: Answer, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty(monkeypatch, lambda url: url.endswith(path))
    error = _server({path: answer}, tmp_path, quick(answer, _CALM))
    assert error.message.startswith(message)
    assert str(error.location).endswith(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tar_of([(tarfile.TarInfo("../x"), b"x")]), "the path '../x' leads out of its folder"),
        (tar_of([(tarfile.TarInfo("kyverno/../../x"), b"x")]), "leads out of its folder"),
        (special(tarfile.SYMTYPE), "in the archive is a link"),
        (zeros_bomb(30_000_000), "unpacks to more than 100 times its size"),
        (packed_chart(chart())[:-20], "the archive is cut or damaged"),
        (b"<html>", "is neither a tar.gz nor a zip archive"),
        (packed_chart({"a.txt": b"x"}), "holds no chart: there is no Chart.yaml"),
        (packed_chart(chart("other")), "is the chart other, not kyverno"),
        (packed_chart(chart(version="3.9.1")), "is kyverno 3.9.1, not 3.9.0"),
        (packed_chart(chart(app="v1.9.0")), "installs Kyverno 1.9, whose chart has one controller"),
        (packed_chart(chart(app="none")), "'none' is not a version of Kyverno"),
        (packed_chart({**chart(), "x.png": b"\x89PNG\xff"}), "is not UTF-8 text"),
        (packed_chart({**chart(), ".chartkit/x": b"x"}), "has a folder .chartkit"),
        (packed_chart({**chart(), "values.yaml": b"[1]"}), "must be one mapping"),
        (packed_chart({**chart(), "Chart.yaml": b"name: x"}), "says neither name nor version"),
    ],
    # An archive holds the time at which it was made, and names must be the same everywhere.
    ids=lambda value: value if isinstance(value, str) else "archive",
)
def test_archives_that_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    answers: dict[str, Answer] = {
        "/index.yaml": body(index("kyverno", {"3.9.0": (content, "x.tgz")})),
        "/x.tgz": body(content),
    }
    assert message in _server(answers, tmp_path).message


def _lacking(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not name.startswith("charts/")}


def test_a_subchart_that_is_missing_is_refused(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", _lacking(with_subchart(chart(), False)))
    error = _refused(tmp_path, str(source))
    assert error.message == "the subchart 'extra' is not in charts/"
    assert "helm dependency build" in str(error.hint)


def test_archives_of_subcharts_are_limited(tmp_path: Path) -> None:
    bomb = {**chart(), "charts/x-1.tgz": zeros_bomb(30_000_000)}
    climbing = {**chart(), "charts/x-1.tgz": tar_of([(tarfile.TarInfo("../../x"), b"x")])}
    for files, message in ((bomb, "times its size"), (climbing, "leads out")):
        with serving({"/x.tgz": body(packed_chart(files))}) as server:
            assert message in _refused(tmp_path, f"{server.url}/x.tgz").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"<html>", "is not an index of a Helm repository"),
        (b"\xff\xfe", "is not an index of a Helm repository"),
        (b"entries: {other: [{version: 1.0.0}]}", "has no chart kyverno"),
        (index("kyverno", {"3.8.1": (b"", "x.tgz")}), "has no version 3.9.0 of kyverno"),
        (
            b"entries: {kyverno: [{version: 3.9.0, urls: [x.tgz]}]}",
            "has no digest for kyverno 3.9.0",
        ),
        (b"entries: {kyverno: [{version: 3.9.0}]}", "does not say where kyverno 3.9.0 is"),
        (index("kyverno", {"3.9.0": (b"", "file:///etc/x")}), "is not an http or https URL"),
        (b"entries: " + b"[" * 5000, ""),
    ],
)
def test_an_index_that_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    assert message in _server({"/index.yaml": body(text)}, tmp_path).message


@from_table("source", "message")
def test_sources_that_are_refused(tmp_path: Path, source: str, message: str) -> None:
    error = _refused(tmp_path, source)
    assert message in error.message
    assert "secret" not in str(error)


def test_names_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'kyverno-policy' is not a chart") as caught:
        _take(tmp_path, "/nowhere", name="kyverno-policy")
    assert caught.value.hint == "did you mean 'kyverno-policies'?"


def _tamper(folder: Path) -> None:
    (folder / "README.md").write_text("mine")


def _add(folder: Path) -> None:
    (folder / "templates" / "more.yaml").write_text("x")


def _remove(folder: Path) -> None:
    (folder / "README.md").unlink()


def _link(folder: Path) -> None:
    (folder / "link").symlink_to("/etc/passwd")


def _unlock(folder: Path) -> None:
    (folder / LOCK_FILE).unlink()


def _misname(folder: Path) -> None:
    folder.rename(folder.parent / "kyverno-policies")


def _unknown(folder: Path) -> None:
    folder.rename(folder.parent / "other")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_tamper, "was changed since it was vendored"),
        (_add, "was not vendored"),
        (_remove, "is missing"),
        (_link, "is a link, or no file"),
        (_unlock, "is not vendored: it has no chartkit.lock"),
        (_misname, "is kyverno 3.9.0, and was vendored as kyverno-policies"),
        (_unknown, "is not a chart that is vendored"),
    ],
)
def test_a_folder_that_is_not_as_it_was_vendored(
    tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    _take(tmp_path, str(write_files(tmp_path / "source", chart())))
    change(tmp_path / "vendor/charts/kyverno")
    with pytest.raises(InputError, match=message):
        read_vendored(tmp_path)
