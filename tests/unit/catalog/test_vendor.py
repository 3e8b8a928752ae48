"""Whole libraries: taken from anywhere, in one step, and locked."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from chartkit.catalog.entries import read_index
from chartkit.catalog.vendoring import default_name, vendor
from chartkit.errors import InputError
from chartkit.network.downloads.lockfile import LOCK_FILE, SourceKind, read_lock, verify
from chartkit.output import atomic_folder
from tests.data import from_table
from tests.e2e.command import snapshot
from tests.files import write_files
from tests.unit.catalog.library_files import git, write_checkout
from tests.unit.network.downloads.archive_files import (
    FILES,
    special,
    tar_gz,
    tar_of,
    zeros_bomb,
    zipped,
)
from tests.unit.network.downloads.hostile_server import CALM, body, hang, quick, serving


def _is_whole(project: Path, name: str = "lib") -> None:
    folder = project / "vendor" / name
    assert {each: content for each, content in snapshot(folder).items() if each != LOCK_FILE} == {
        **FILES
    }
    assert verify(folder) == []
    references = [entry.reference for entry in read_index(name, folder).entries]
    assert references == ["best/one", "best/two"]


def test_takes_a_folder(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "lib", FILES)
    monkeypatch.chdir(tmp_path)
    taken = vendor("lib", project)
    _is_whole(project)
    assert (taken.name, taken.lock.origin.kind) == ("lib", SourceKind.FOLDER)
    assert taken.lock.origin.location == "../lib"
    assert read_lock(project / "vendor" / "lib") == taken.lock


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_takes_an_archive(
    project: Path, tmp_path: Path, pack: Callable[[Mapping[str, bytes]], bytes]
) -> None:
    file = tmp_path / "lib.tar.gz"
    file.write_bytes(pack(FILES))
    vendor(str(file), project)
    _is_whole(project)


def test_vendor_takes_an_archive_by_url(project: Path) -> None:
    with serving({"/lib.tar.gz?x=1": body(tar_gz(FILES))}) as server:
        taken = vendor(f"{server.url}/lib.tar.gz?x=1", project, limits=CALM)
        _is_whole(project)
    assert taken.lock.origin.location == f"{server.url}/lib.tar.gz?x=1"
    assert len(taken.lock.origin.revision) == 64


def test_takes_a_revision_of_a_checkout(project: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "lib"
    first = write_checkout(checkout, FILES)
    git(checkout, "tag", "v1")
    (checkout / "best/one/one.yaml").write_text("kind: Other\n")
    git(checkout, "commit", "--quiet", "--all", "--message=second")
    (checkout / "best/two/two.yaml").write_text("not committed\n")
    taken = vendor(str(checkout), project, ref="v1")
    _is_whole(project)
    origin = taken.lock.origin
    assert (origin.kind, origin.ref, origin.revision) == (SourceKind.GIT, "v1", first)
    taken = vendor(str(checkout), project, name="newest")
    assert [entry.reference for entry in taken.indexed.entries] == ["best/two"]


def test_nothing_that_a_checkout_names_is_run(project: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "lib"
    write_checkout(checkout, {**FILES, ".gitattributes": b"* filter=evil diff=evil export-subst\n"})
    ran = tmp_path / "ran"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        file = checkout / ".git" / "hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {ran}\n")
        file.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.gitProxy",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.external",
        "alias.cat-file",
    ):
        git(checkout, "config", key, f"{'!' if key.startswith('alias') else ''}touch {ran}; cat")
    taken = vendor(str(checkout), project)
    assert [entry.reference for entry in taken.indexed.entries] == ["best/one", "best/two"]
    assert not ran.exists()
    subprocess.run(["git", "status"], cwd=checkout, check=False, capture_output=True)
    assert ran.exists(), "what the checkout names would have run"


def test_a_broken_checkout_is_not_the_one_above_it(project: Path, tmp_path: Path) -> None:
    write_checkout(tmp_path / "outer", FILES)
    inner = write_files(tmp_path / "outer" / "lib", FILES)
    (inner / ".git").mkdir()
    with pytest.raises(InputError, match="not a git repository"):
        vendor(str(inner), project)


def test_a_checkout_with_links_is_refused(project: Path, tmp_path: Path) -> None:
    checkout = write_files(tmp_path / "lib", FILES)
    (checkout / "link").symlink_to("/etc/passwd")
    write_checkout(checkout, FILES)
    with pytest.raises(InputError, match="'link' is a link"):
        vendor(str(checkout), project)


@pytest.mark.parametrize("ref", ["nowhere", "--output=x", "HEAD~9"])
def test_a_ref_that_is_not_there_is_refused(project: Path, tmp_path: Path, ref: str) -> None:
    write_checkout(tmp_path / "lib", FILES)
    with pytest.raises(InputError, match=f"there is no commit '{ref}'"):
        vendor(str(tmp_path / "lib"), project, ref=ref)


def test_without_git_a_checkout_is_refused(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkout(tmp_path / "lib", FILES)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="git is needed") as caught:
        vendor(str(tmp_path / "lib"), project)
    assert caught.value.hint == "install git, or give the folder without .git"


def _link(folder: Path) -> None:
    (folder / "best" / "link.yaml").symlink_to("/etc/passwd")


def _linked_folder(folder: Path) -> None:
    (folder / "more").symlink_to(folder / "best")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def _foreign_name(folder: Path) -> None:
    (folder / "a:b").write_text("x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_link, "'best/link.yaml' is a link"),
        (_linked_folder, "'more' is a link"),
        (_pipe, "'pipe' is neither a file nor a folder"),
        (_foreign_name, "'a:b' leads out of its folder"),
        (lambda folder: shutil.rmtree(folder / "best"), "holds no policy"),
    ],
)
def test_a_folder_with_what_is_no_file_is_refused(
    project: Path, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    change(write_files(tmp_path / "lib", FILES))
    with pytest.raises(InputError, match=message):
        vendor(str(tmp_path / "lib"), project)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        tar_gz(FILES)[:-20],
        tar_of([(tarfile.TarInfo("../../x.yaml"), b"x")]),
        special(tarfile.SYMTYPE),
        zeros_bomb(30_000_000),
        tar_gz({"README.md": b"nothing"}),
        b"<html>",
    ],
    ids=["cut", "climbing", "link", "bomb", "empty", "html"],
)
def test_a_bad_archive_leaves_nothing(project: Path, content: bytes) -> None:
    with serving({"/lib.tar.gz": body(content)}) as server:
        with pytest.raises(InputError) as caught:
            vendor(f"{server.url}/lib.tar.gz", project, limits=CALM)
        assert str(caught.value).startswith(f"{server.url}/lib.tar.gz: ")
    assert list(project.iterdir()) == []


def test_a_server_that_hangs_leaves_nothing(project: Path) -> None:
    with (
        serving({"/lib.zip": hang}) as server,
        pytest.raises(InputError, match=r"sent nothing for 0\.4 seconds, in 2 attempts"),
    ):
        vendor(f"{server.url}/lib.zip", project, limits=quick(hang))
    assert list(project.iterdir()) == []


def test_a_disk_that_fails_midway_leaves_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "lib", FILES)
    real = Path.write_bytes

    def failing(path: Path, content: bytes) -> int:
        if path.name == "two.yaml":
            raise OSError(28, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        vendor(str(tmp_path / "lib"), project)
    assert list((project / "vendor").iterdir()) == []


def test_what_a_killed_run_left_is_cleared(project: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "lib", FILES)
    left = project / "vendor" / ".lib.chartkit-new-0"
    left.mkdir(parents=True)
    vendor(str(tmp_path / "lib"), project)
    assert [path.name for path in (project / "vendor").iterdir()] == ["lib"]


def test_two_writers_do_not_meet(project: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "lib", FILES)
    with atomic_folder.lock(project), pytest.raises(InputError, match="another chartkit writes"):
        vendor(str(tmp_path / "lib"), project)


def test_names_that_are_not_to_be_had(project: Path, tmp_path: Path) -> None:
    source = str(write_files(tmp_path / "lib", FILES))
    (project / "policies").mkdir()
    (project / "chartkit.yaml").write_text("library: [policies]\n")
    for name, message in (
        ("Lib", "cannot be the name"),
        ("charts", "cannot be the name"),
        ("../x", "cannot be the name"),
        ("chartkit", "there is a library 'chartkit' already"),
        ("policies", "there is a library 'policies' already"),
    ):
        with pytest.raises(InputError, match=message):
            vendor(source, project, name=name)
    vendor(source, project)
    with pytest.raises(InputError, match="is there already"):
        vendor(source, project)


def test_sources_that_are_none(project: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "lib", FILES)
    for source, ref, message in (
        (str(tmp_path / "gone"), "", "no such file or folder"),
        (str(tmp_path / "lib"), "v1", "a ref is for a git checkout"),
        ("ftp://example.test/lib.zip", "", "not an http or https URL"),
    ):
        with pytest.raises(InputError, match=message):
            vendor(source, project, name="lib", ref=ref)


@from_table("source", "name")
def test_names_that_sources_suggest(source: str, name: str) -> None:
    assert default_name(source) == name
