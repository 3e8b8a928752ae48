"""Caches between runs: private, bounded, and never trusted with more than values."""

import json
import os
from pathlib import Path

import pytest

from chartkit import cache_folder
from chartkit.cache_folder import Store, digest_of, program_digest

KEY = digest_of("a", 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "things"


def test_values_come_back_by_their_key(folder: Path) -> None:
    store = Store("things")
    assert store.load(KEY) is None
    store.save(KEY, [{"a": None}, "\ud800", 1.5])
    assert Store("things").load(KEY) == [{"a": None}, "\ud800", 1.5]
    assert store.load(digest_of("a", 2)) is None
    assert folder.stat().st_mode & 0o777 == 0o700
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[1]", '{"key": "other", "value": 1}', "[" * 100_000, "\x00\xff", "9" * 5000],
)
def test_what_is_no_value_is_not_there(folder: Path, text: str) -> None:
    store = Store("things")
    store.save(KEY, 1)
    (file,) = folder.iterdir()
    file.write_bytes(text.encode("latin-1"))
    assert store.load(KEY) is None


def test_links_and_folders_of_others_are_not_used(folder: Path) -> None:
    store = Store("things")
    store.save(KEY, 1)
    (file,) = folder.iterdir()
    target = folder.parent / "target"
    target.write_text(json.dumps({"key": KEY, "value": 2}))
    file.unlink()
    file.symlink_to(target)
    assert store.load(KEY) is None
    file.unlink()
    store.save(KEY, 3)
    folder.chmod(0o777)
    assert store.load(KEY) is None
    other = digest_of("b")
    store.save(other, 4)
    assert not (folder / f"{other}.json").exists()


def test_folder_that_cannot_be_written_keeps_nothing(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("a file")
    Store("things").save(KEY, 1)
    assert Store("things").load(KEY) is None


def test_oldest_values_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_ROOM", 3000)
    store = Store("things")
    keys = [digest_of(number) for number in range(5)]
    for at, key in enumerate(keys):
        store.save(key, "x" * 900)
        os.utime(folder / f"{key}.json", (at, at))
    store.save(KEY, "x" * 900)
    assert [key for key in keys if store.load(key) is not None] == keys[-2:]
    assert store.load(KEY) is not None


def test_value_beyond_the_limit_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_LARGEST", 500)
    Store("things").save(KEY, "x" * 900)
    assert not folder.exists()


def test_changed_program_is_another_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text("a")
    monkeypatch.setattr(cache_folder, "profiles_dir", lambda: tmp_path)
    program_digest.cache_clear()
    before = program_digest()
    (tmp_path / "profile.yaml").write_text("ab")
    program_digest.cache_clear()
    assert program_digest() != before
    program_digest.cache_clear()
