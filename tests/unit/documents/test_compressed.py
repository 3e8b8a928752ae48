"""documents.compressed: files of gzip and zstd, whole, broken and too large."""

import gzip
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from chartkit.documents.input_files import decompressed
from chartkit.documents.reader import read_file
from chartkit.documents.streams import gunzipped
from chartkit.errors import InputError
from chartkit.model import Location
from tests.errors import error_of

TEXT = b"a: 1\nb:\n  c: 2\n"
PLACE = Location("f")


def _zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(TEXT[:5]) + gzip.compress(TEXT[5:]),
        gzip.compress(TEXT) + b"\0" * 10,
        _zstd(TEXT),
        _zstd(TEXT[:5]) + _zstd(TEXT[5:]),
    ],
)
def test_content_is_told_by_its_first_bytes(tmp_path: Path, content: bytes) -> None:
    assert decompressed(content, PLACE) == TEXT
    file = tmp_path / "f.yaml"
    file.write_bytes(content)
    [document] = read_file(file)
    assert str(document.locate("b", "c")) == f"{file}:3:3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(TEXT)[:-9], "f: is a gzip file that ends too soon"),
        (gzip.compress(TEXT)[:4], "f: is a gzip file that ends too soon"),
        (b"\x1f\x8b\x08" + b"\xff" * 40, "f: is not a gzip file: "),
        (_zstd(TEXT)[:-3], "f: is a zstd file that ends too soon"),
        (_zstd(TEXT)[:4] + b"\xff" * 30, "f: is not a zstd file: "),
        (_zstd(TEXT) + b"rest", "f: is not a zstd file: "),
    ],
)
def test_broken_content_is_an_error(content: bytes, message: str) -> None:
    assert str(error_of(InputError, decompressed, content, PLACE)).startswith(message)


@pytest.mark.parametrize("compress", [gzip.compress, _zstd])
def test_more_than_the_limit_is_refused_before_it_is_held(compress: object) -> None:
    bomb = compress(b"\0" * (64 << 20))  # type: ignore[operator]
    assert len(bomb) < 1 << 20
    with pytest.raises(InputError, match="holds more than 1 MiB"):
        decompressed(bomb, PLACE, most=1 << 20)


@pytest.mark.parametrize("compress", [gzip.compress, _zstd])
def test_many_members_take_time_in_proportion(compress: Callable[[bytes], bytes]) -> None:
    # A copy of the rest for each member would be 900 GB.
    content = compress(b"") * 300_000 + compress(TEXT)
    assert decompressed(content, PLACE) == TEXT
    with pytest.raises(InputError, match="holds more than 1 MiB"):
        decompressed(compress(b"#" * 100) * 20_000, PLACE, most=1 << 20)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 21, 1000])
def test_members_of_gzip_are_found_at_any_cut(size: int) -> None:
    for ending in (b"", b"\0" * 9, b"\x1f", b"\x1fx"):
        content = gzip.compress(TEXT[:5]) + gzip.compress(b"") + gzip.compress(TEXT[5:]) + ending
        pieces = [content[start : start + size] for start in range(0, len(content), size)]
        assert b"".join(gunzipped(pieces)) == TEXT
    for cut in (gzip.compress(TEXT)[:-1], gzip.compress(TEXT) + gzip.compress(TEXT)[:-3]):
        with pytest.raises(EOFError):
            list(gunzipped([cut[start : start + size] for start in range(0, len(cut), size)]))


def test_random_content_behind_the_first_bytes_never_ends_in_another_error() -> None:
    for start in (b"\x1f\x8b", b"\x28\xb5\x2f\xfd"):
        for seed in range(200):
            with pytest.raises(InputError):
                decompressed(start + zlib.crc32(bytes([seed])).to_bytes(4, "big") * 5, PLACE)


def test_zstd_without_its_package_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert ".[zstd]" in (error_of(InputError, decompressed, _zstd(TEXT), PLACE).hint or "")
