"""Archives: what is unpacked, and what is refused before it does harm."""

import gzip
import struct
import tarfile
import tracemalloc
from dataclasses import replace

import pytest

from chartkit.catalog.vendoring import strip_root
from chartkit.errors import InputError
from chartkit.network.downloads.download import unpack
from chartkit.network.downloads.lockfile import DEFAULT
from tests.cpu import ends_soon
from tests.unit.network.downloads.archive_files import (
    FILES,
    announced_bomb,
    header_bomb,
    special,
    tar_gz,
    tar_of,
    zeros_bomb,
    zipped,
)

_SMALL = replace(DEFAULT, files=10, file=10_000, total=20_000, ratio_from=15_000)


def _refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        unpack(content, "lib.tar.gz", DEFAULT)
    assert message in caught.value.message
    assert str(caught.value).startswith("lib.tar.gz: ")


@pytest.mark.parametrize("wrapper", ["", "./", "library-main/", "./library-main/"])
@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_unpacks_a_library_with_or_without_a_folder_around_it(pack: object, wrapper: str) -> None:
    assert callable(pack)
    files = dict(FILES) | {"other/three/three.yaml": b"x", "README.md": b"read"}
    assert strip_root(unpack(pack(files, wrapper), "x", DEFAULT)) == files


def test_a_category_is_no_wrapper() -> None:
    assert strip_root(unpack(tar_gz(FILES, ""), "x", DEFAULT)) == FILES


def test_what_git_keeps_and_old_locks_are_left_out() -> None:
    files = dict(FILES) | {".git/hooks/post-checkout": b"x", "a/.GIT/config": b"x"}
    files["chartkit.lock"] = b"{}"
    assert unpack(tar_gz(files, ""), "x", DEFAULT) == FILES


@pytest.mark.parametrize(
    "name",
    [
        "../x.yaml",
        "best/../../x.yaml",
        "/etc/x.yaml",
        "best\\..\\x.yaml",
        "C:/x.yaml",
        "a/..",
        "..",
    ],
)
def test_paths_that_lead_out_are_refused(name: str) -> None:
    _refused(tar_of([(tarfile.TarInfo(name), b"x")]), "leads out of its folder")
    _refused(zipped({name: b"x"}, ""), "leads out of its folder")


@pytest.mark.parametrize(
    "name",
    ["a//b.yaml", "a/./b.yaml", "a\nb", "a\x1b[2J", "x" * 300, "a/" * 30 + "b", "a. /b", "b."],
)
def test_names_that_not_every_system_writes_are_refused(name: str) -> None:
    _refused(tar_of([(tarfile.TarInfo(name), b"x")]), "cannot be written")


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "neither a file nor a folder"),
        (tarfile.BLKTYPE, "neither a file nor a folder"),
        (tarfile.FIFOTYPE, "neither a file nor a folder"),
        (tarfile.CONTTYPE, ""),
    ],
)
def test_links_and_devices_are_refused(kind: bytes, what: str) -> None:
    if what:
        _refused(special(kind), f"'best/one/link' in the archive is {what}")
    else:
        assert "best/one/link" in unpack(special(kind), "x", DEFAULT)


@pytest.mark.parametrize(("mode", "what"), [(0o120777, "a link"), (0o060644, "neither a file")])
def test_links_and_devices_in_a_zip_are_refused(mode: int, what: str) -> None:
    _refused(zipped(FILES, mode=mode), what)


def test_an_encrypted_zip_is_refused() -> None:
    content = bytearray(zipped(FILES))
    at = content.find(b"PK\x01\x02")
    content[at + 8] |= 1
    _refused(bytes(content), "the archive is encrypted")


def test_an_unknown_compression_is_refused() -> None:
    content = bytearray(zipped(FILES))
    at = content.find(b"PK\x01\x02")
    content[at + 10] = 14
    _refused(bytes(content), "of an unknown kind")


@pytest.mark.parametrize("content", [b"", b"<html>", b"BZh9", b"\xfd7zXZ\x00"])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    _refused(content, "is neither a tar.gz nor a zip archive")


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_an_archive_that_is_cut_anywhere_is_refused(pack: object) -> None:
    assert callable(pack)
    content = pack(FILES)
    for at in range(4, len(content) - 1, 7):
        with pytest.raises(InputError):
            unpack(content[:at], "x", DEFAULT)


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_a_tampered_archive_is_refused_or_the_same(pack: object) -> None:
    assert callable(pack)
    content = pack(FILES)
    refused = 0
    for at in range(2, len(content)):
        tampered = bytearray(content)
        tampered[at] ^= 0x20
        try:
            found = unpack(bytes(tampered), "x", DEFAULT)
        except InputError:
            refused += 1
        else:
            # Times, comments and the like say nothing of a file's content.
            assert set(found.values()) == set(FILES.values())
    assert refused > len(content) // 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (announced_bomb(10 * 2**30), "has a file of more than"),
        (zeros_bomb(40_000_000), "unpacks to more than 100 times its size"),
        (header_bomb(40_000_000), "unpacks to more than 100 times its size"),
        (gzip.compress(b"\0" * 40_000_000), "unpacks to more than 100 times its size"),
        (zipped({"a/b/c.yaml": b"\0" * 15_000_000}), "unpacks to more than 100 times its size"),
    ],
    ids=["announced", "zeros", "header", "padding", "zip"],
)
def test_bombs_are_refused_early(content: bytes, message: str) -> None:
    tracemalloc.start()
    try:
        with ends_soon(), pytest.raises(InputError) as caught:
            unpack(content, "x", DEFAULT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert message in caught.value.message
    assert peak < 40_000_000


def test_a_zip_whose_directory_is_a_bomb_is_not_read() -> None:
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 60_000, 60_000, 46 * 60_000, 0, 0)
    _refused(b"PK\x03\x04" + b"\0" * 100 + end, "has more than 20,000 files")
    large = b"PK\x06\x07" + b"\0" * 16
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, 46, 0, 0)
    _refused(b"PK\x03\x04" + b"\0" * 100 + large + end, "has more than 20,000 files")


@pytest.mark.parametrize("pack", [tar_gz, zipped])
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({f"a/{at}/x.yaml": b"" for at in range(11)}, "has more than 10 files"),
        ({"a/b/x.yaml": b"\0" * 10_001}, "has a file of more than 10,000 bytes"),
        (
            {f"a/{at}/x.yaml": bytes(range(256)) * 39 for at in range(3)},
            "is larger than 20,000 bytes when unpacked",
        ),
        ({"a/b/x.yaml": b"1", "a/b/X.yaml": b"2"}, "has two files"),
        ({"a/b/x": b"1", "a/b/x/y/z.yaml": b"2"}, "both as a file and as a folder"),
    ],
)
def test_what_is_too_much_or_twice_is_refused(
    pack: object, files: dict[str, bytes], message: str
) -> None:
    assert callable(pack)
    with pytest.raises(InputError) as caught:
        unpack(pack(files), "x", _SMALL)
    assert message in caught.value.message or "times its size" in caught.value.message
