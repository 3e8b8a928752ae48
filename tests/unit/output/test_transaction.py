"""Files written together: all of them or none."""

import os
import signal
import sys
from pathlib import Path

import pytest

from chartkit.atomic import replacing
from chartkit.cache_folder import Store
from chartkit.errors import InputError
from chartkit.output.atomic_folder import take_back, write_together


def _contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_all_are_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    (tmp_path / "link").symlink_to("a")
    write_together({tmp_path / "link": "new é", tmp_path / "sub" / "b": "b"})
    assert _contents(tmp_path) == {"a": "new é", "link": "new é", "sub/b": "b"}
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_none_is_written_where_one_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder: cannot be written: Is a directory"):
        write_together({tmp_path / "a": "x", tmp_path / "new": "x", tmp_path / "folder": "x"})
    assert _contents(tmp_path) == {"a": "old"}


def test_a_full_disk_is_named_with_the_file_and_leaves_no_folder(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "a").write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(InputError, match="sub/deep/b: cannot be written: File too large"):
            write_together({tmp_path / "a": "new", tmp_path / "sub/deep/b": "x" * 60_000})
        with pytest.raises(OSError, match=r"too large.*/a'"), replacing(tmp_path / "a") as file:
            file.write(b"x" * 60_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_an_interrupt_puts_back_what_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"old {name}")
    replace = os.replace
    done: list[Path] = []

    def interrupted(source: Path, target: Path) -> None:
        if target.name == "c" and not done:
            done.append(target)
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_together(
            {tmp_path / "b": None, **{tmp_path / name: "new" for name in ("a", "n", "c")}}
        )
    assert done
    assert _contents(tmp_path) == {name: f"old {name}" for name in ("a", "b", "c")}


def _write_all(root: Path, text: str) -> None:
    files = {root / "a": text, root / "sub" / "b": text, root / "made" / "c": text}
    write_together({**files, root / "gone": None})


def _killed(at: int, root: Path) -> bool:
    """Write in a process that is killed at one of its file operations; False where it had fewer."""
    child = os.fork()
    if child == 0:
        count = 0

        def watch(event: str, _: object) -> None:
            nonlocal count
            if event in _OPERATIONS:
                count += 1
                if count == at:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(watch)
            _write_all(root, "new")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


_OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.scandir"}
_MANY = 1_000


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_what_a_killed_writer_wrote_is_taken_back(tmp_path: Path) -> None:
    before = {"a": "old", "gone": "old", "sub/b": "old"}
    after = {"a": "new", "made/c": "new", "sub/b": "new"}
    seen: list[bool] = []
    for at in range(1, _MANY):
        root = tmp_path / str(at)
        (root / "sub").mkdir(parents=True)
        for name in before:
            (root / name).write_text("old")
        if not _killed(at, root):
            assert _contents(root) == after
            break
        seen.append(_contents(root) not in (before, after))
        assert take_back([tmp_path / "elsewhere"]) == []
        take_back([root / "sub"])
        assert _contents(root) == before, at
        assert take_back([tmp_path]) == []
        _write_all(root, "new")
        assert _contents(root) == after, at
    assert 20 < at < _MANY
    assert any(seen)
    assert Store("unfinished").all_keys() == []


def test_what_was_changed_since_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}")
    monkeypatch.setattr(Store, "remove", lambda *_: None)
    write_together({tmp_path / name: "new" for name in ("a", "b", "c")})
    monkeypatch.undo()
    (tmp_path / "b").write_text("by hand")
    assert take_back([tmp_path]) == [tmp_path / "a", tmp_path / "c"]
    assert _contents(tmp_path) == {"a": "old a", "b": "by hand"}
