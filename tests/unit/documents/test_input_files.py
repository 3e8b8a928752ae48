"""documents.input_files: what is read and refused, so that no file hangs or fills memory."""

import io
import os
import socket
from pathlib import Path

import pytest

from chartkit.documents import input_files, streams
from chartkit.documents.input_files import is_folder, is_there, read_bytes, read_text
from chartkit.documents.streams import read_stdin
from chartkit.errors import InputError
from chartkit.model import Diagnostic
from chartkit.scan.inputs.folders import walk
from tests.cpu import ends_soon
from tests.errors import error_of

LONG = "a" * 300


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: \xc3\xa4\n")
    assert read_text(file) == "a: ä\n"
    assert read_bytes(file)[3:5] == b"a:"


@pytest.mark.parametrize("name", [LONG, f"{LONG}/b", "a\x00b", "x/y"])
def test_a_path_that_leads_nowhere(name: str, tmp_path: Path) -> None:
    for read in (read_text, read_bytes):
        assert error_of(InputError, read, tmp_path / name).location is not None
    assert not is_there(tmp_path / name)
    assert not is_folder(tmp_path / name)


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(InputError, match="cannot be read"):
        read_text(tmp_path / "a")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_text(tmp_path)


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_bytes(_sparse(tmp_path, (1 << 20) + 1), 1 << 20)
    monkeypatch.setattr(streams, "LONGEST_STREAM", 10)
    reader, writer = os.pipe()
    os.write(writer, b"a" * 11)
    with pytest.raises(InputError, match="larger than"):
        read_text(f"/dev/fd/{reader}")
    os.close(reader)
    os.close(writer)


def _sparse(folder: Path, size: int) -> Path:
    file = folder / "large"
    with file.open("wb") as out:
        out.truncate(size)
    return file


@pytest.mark.parametrize("target", ["fifo", "socket", "device"])
@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_no_file_in_a_folder(target: str, is_link: bool, tmp_path: Path) -> None:
    if target == "device" and not is_link:
        pytest.skip("a device is made by root alone")
    place = tmp_path / "elsewhere" if is_link else tmp_path / "in" / "f.yaml"
    (tmp_path / "in").mkdir()
    if target == "fifo":
        os.mkfifo(place)
    elif target == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(place))
    else:
        place = Path("/dev/zero")
    if is_link:
        (tmp_path / "in" / "f.yaml").symlink_to(place)
    rows: list[Diagnostic] = []
    with ends_soon():
        assert not list(walk(tmp_path / "in", rows.append))
    assert ["not a file" in row.message for row in rows] == [True]
    if target != "device":
        with ends_soon(), pytest.raises(InputError, match="not a file"):
            read_text(tmp_path / "in" / "f.yaml")


@pytest.mark.parametrize(("path", "says"), [("/dev/zero", "NUL"), ("/dev/urandom", "UTF-8")])
def test_a_device_that_never_ends(path: str, says: str) -> None:
    with ends_soon(), pytest.raises(InputError, match=f"{says}|NUL"):
        read_text(path)
    with ends_soon(), pytest.raises(InputError, match="is a device"):
        read_bytes(path)


def test_a_pipe_that_somebody_opened() -> None:
    reader, writer = os.pipe()
    os.write(writer, "ä: 1".encode())
    os.close(writer)
    assert read_text(f"/dev/fd/{reader}") == "ä: 1"
    os.close(reader)


def test_input_files_standard_input() -> None:
    assert read_stdin(io.StringIO("a: 1")) == "a: 1"
    reader, writer = os.pipe()
    os.write(writer, b"a: \xff")
    os.close(writer)
    with open(reader, encoding="utf-8") as stdin, pytest.raises(InputError, match="byte 3"):
        read_stdin(stdin)


def test_a_file_that_an_editor_has_open_is_read_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, link, new = tmp_path / "a.yaml", tmp_path / "link.yaml", tmp_path / "new.yaml"
    file.write_text("a: 1\n")
    link.symlink_to(file)
    monkeypatch.setitem(input_files.EDITED, str(file.resolve()), b"a: 2\r\n")
    monkeypatch.setitem(input_files.EDITED, str(new.resolve()), b"b: 1\n")
    assert input_files.read_text(file) == input_files.read_text(link) == "a: 2\n"
    assert input_files.read_bytes(link) == b"a: 2\r\n"
    assert input_files.read_text(new) == "b: 1\n"
