"""Vendored libraries: what an update brings, and what is not as the lock file has it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.catalog import entries
from chartkit.catalog.entries import read_index
from chartkit.catalog.vendoring import (
    ChangeType,
    apply_update,
    as_text,
    changes,
    plan_update,
    vendor,
    vendored_names,
)
from chartkit.errors import InputError
from chartkit.network.downloads.lockfile import LOCK_FILE, read_lock, verify
from tests.e2e.command import snapshot
from tests.unit.catalog.library_files import POLICY, git, write_checkout, write_plain
from tests.unit.network.downloads.archive_files import FILES


@pytest.fixture
def vendored(project: Path, tmp_path: Path) -> Path:
    """A project with a library of three policies; its source stands in tmp_path/lib."""
    for name in ("one", "two", "three"):
        write_plain(tmp_path / "lib", f"best/{name}")
    vendor(str(tmp_path / "lib"), project)
    return project


def test_nothing_changed(vendored: Path) -> None:
    assert plan_update("lib", vendored).is_nothing


def test_an_update_is_told_policy_by_policy(vendored: Path, tmp_path: Path) -> None:
    source = tmp_path / "lib"
    one = source / "best/one/one.yaml"
    one.write_text(one.read_text().replace("severity: medium", "severity: high"))
    test = source / "best/two/.kyverno-test/resource.yaml"
    test.write_text(test.read_text() + "# more\n")
    shutil.rmtree(source / "best/three")
    write_plain(source, "best/four")
    (source / "README.md").write_text("\x1b[2J\n")
    before = snapshot(vendored)
    planned = plan_update("lib", vendored)
    found = changes(planned)
    assert [(change.reference, change.what) for change in found.policies] == [
        ("best/four", ChangeType.ADDED),
        ("best/one", ChangeType.CHANGED),
        ("best/three", ChangeType.REMOVED),
        ("best/two", ChangeType.CHANGED),
    ]
    assert found.policies[1].traits == (("severity", "medium", "high"),)
    assert found.others == {"README.md": ChangeType.ADDED}
    assert list(as_text(found, diffs=False)) == [
        "  added    best/four: Four",
        "  changed  best/one: severity medium → high; +1 -1 lines in 1 file",
        "  removed  best/three: Three",
        "  changed  best/two: +1 -0 lines in 1 file, tests alone",
        "  and 1 file of no policy",
    ]
    shown = "\n".join(as_text(found, diffs=True))
    assert "\n+++ b/best/one/one.yaml\n" in shown
    assert "\n+    policies.kyverno.io/severity: high\n" in shown
    assert "\n+++ /dev/null\n" in shown
    assert snapshot(vendored) == before

    apply_update(planned, vendored)
    assert plan_update("lib", vendored).is_nothing
    folder = vendored / "vendor" / "lib"
    assert verify(folder) == []
    assert [entry.reference for entry in read_index("lib", folder).entries] == [
        "best/four",
        "best/one",
        "best/two",
    ]


def test_an_update_of_a_checkout_follows_its_ref(project: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "lib"
    write_checkout(checkout, FILES)
    vendor(str(checkout), project, ref="main")
    (checkout / "best/one/one.yaml").write_text("kind: Other\n")
    git(checkout, "commit", "--quiet", "--all", "--message=second")
    planned = plan_update("lib", project)
    assert planned.taken.origin.revision == git(checkout, "rev-parse", "HEAD")
    assert [change.reference for change in changes(planned).policies] == ["best/one"]
    assert plan_update("lib", project, ref="main~1").taken.files == FILES


def test_another_source_is_taken_from_then_on(vendored: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="no such file or folder"):
        plan_update("lib", vendored)
    planned = plan_update("lib", vendored, source=str(tmp_path / "moved"))
    assert not planned.is_nothing
    assert changes(planned).policies == ()
    apply_update(planned, vendored)
    assert plan_update("lib", vendored).is_nothing


def test_an_update_that_fails_leaves_the_old_library(vendored: Path, tmp_path: Path) -> None:
    before = snapshot(vendored)
    shutil.rmtree(tmp_path / "lib" / "best")
    with pytest.raises(InputError, match="holds no policy"):
        plan_update("lib", vendored)
    assert snapshot(vendored) == before


def test_an_update_that_another_took_first_is_refused(vendored: Path, tmp_path: Path) -> None:
    write_plain(tmp_path / "lib", "best/four")
    planned = plan_update("lib", vendored)
    apply_update(plan_update("lib", vendored), vendored)
    with pytest.raises(InputError, match="was updated by another process"):
        apply_update(planned, vendored)


def _edit(folder: Path) -> None:
    file = folder / "best/one/one.yaml"
    file.write_text(file.read_text() + "# mine\n")


def _add(folder: Path) -> None:
    (folder / "best/one/more.yaml").write_text(POLICY.format(name="m", title="m", category="m"))


def _remove(folder: Path) -> None:
    (folder / "best/one/one.yaml").unlink()


def _swap_for_link(folder: Path) -> None:
    file = folder / "best/one/one.yaml"
    copy = folder.parent / "elsewhere.yaml"
    file.rename(copy)
    file.symlink_to(copy)


@pytest.mark.parametrize(
    ("change", "file", "message"),
    [
        (_edit, "best/one/one.yaml", "was changed since it was vendored"),
        (_add, "best/one/more.yaml", "was not vendored"),
        (_remove, "best/one/one.yaml", "is missing"),
        (_swap_for_link, "best/one/one.yaml", "is a link, or no file"),
    ],
)
def test_what_is_not_as_the_lock_has_it_is_refused(
    vendored: Path, change: Callable[[Path], None], file: str, message: str
) -> None:
    folder = vendored / "vendor" / "lib"
    change(folder)
    (found,) = verify(folder)
    assert (found.rule_id, found.message) == ("CK501", message)
    assert str(found.location) == str(folder / file)
    with pytest.raises(InputError, match=message):
        plan_update("lib", vendored)


def _lock(**changed: object) -> str:
    source = {"kind": "folder", "location": "x", "revision": "y"}
    body: dict[str, object] = {"version": 1, "source": source, "files": {}}
    return json.dumps(body | changed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        _lock(version=2),
        _lock(source={"kind": "tape", "location": "x", "revision": "y"}),
        _lock(source={"kind": "folder", "location": 3, "revision": "y"}),
        _lock(files={"../x": "sha256:" + "0" * 64}),
        _lock(files={"/x": "sha256:" + "0" * 64}),
        _lock(files={"x": "sha256:abc"}),
        _lock(files={"x": "md5:" + "0" * 64}),
        _lock(files={"x": 3}),
        _lock(files=[]),
    ],
)
def test_a_damaged_lock_is_refused(vendored: Path, text: str) -> None:
    folder = vendored / "vendor" / "lib"
    (folder / LOCK_FILE).write_text(text)
    with pytest.raises(InputError, match="is not a lock file of chartkit"):
        read_lock(folder)


def test_names_of_vendored_libraries(vendored: Path) -> None:
    assert vendored_names(None, vendored) == ["lib"]
    assert vendored_names("lib", vendored) == ["lib"]
    with pytest.raises(InputError, match="no vendored library 'libb'") as caught:
        vendored_names("libb", vendored)
    assert caught.value.hint == "did you mean 'lib'?"
    with pytest.raises(InputError, match="is not vendored"):
        read_lock(vendored)


def test_the_first_search_need_not_read(vendored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(entries, "_unit", refuse)
    assert len(read_index("lib", vendored / "vendor" / "lib").entries) == 3


def test_halves_of_surrogates_in_a_lock_name_no_file(vendored: Path) -> None:
    folder = vendored / "vendor" / "lib"
    text = _lock(source={"kind": "folder", "location": "o\udfffwn", "revision": "0" * 64})
    (folder / LOCK_FILE).write_text(text)
    assert read_lock(folder).origin.location == "o\ufffdwn"
