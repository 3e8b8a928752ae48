"""Files written together: all of them or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.output.transaction import write_together


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
        write_together({tmp_path / name: "new" for name in ("a", "b", "new", "c")})
    assert done
    assert _contents(tmp_path) == {name: f"old {name}" for name in ("a", "b", "c")}
