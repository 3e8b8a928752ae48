"""Downloads from hostile servers, and archives: what is unpacked, what is refused."""

import gzip
import ssl
import struct
import tarfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.catalog.vendoring import strip_root
from chartkit.errors import InputError
from chartkit.network.downloads.download import download, unpack
from chartkit.network.downloads.lockfile import DEFAULT
from tests.cpu import ends_soon
from tests.data import from_table
from tests.errors import error_of
from tests.hasty import first, hasty
from tests.loopback import at_length
from tests.self_signed import self_signed
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
from tests.unit.network.downloads.hostile_server import (
    CALM,
    STEADY,
    Answer,
    body,
    close,
    flood,
    hang,
    in_turn,
    quick,
    redirect,
    serving,
    trickle,
    trickled_head,
)

_CALM = replace(CALM, archive=200_000)


def _fails(answer: Answer, attempts: int) -> str:
    """The message that a download ends with; attempts: how often the server must be asked."""
    with serving({"/x": answer}) as server:
        with pytest.raises(InputError) as caught:
            download(f"{server.url}/x", quick(answer, _CALM))
        assert at_length(lambda: len(server.asked) >= attempts)
        assert server.asked == ["/x"] * attempts
    assert str(caught.value.location) == f"{server.url}/x"
    assert "\n" not in str(caught.value)
    return caught.value.message


def test_takes_what_a_server_has() -> None:
    with serving({"/x": body(b"abc" * 50_000)}) as server:
        assert download(f"{server.url}/x", _CALM) == b"abc" * 50_000


def test_follows_redirects() -> None:
    answers = {"/a": redirect("/b"), "/b": redirect("/c"), "/c": body(b"found")}
    with serving(answers) as server:
        assert download(f"{server.url}/a", _CALM) == b"found"
        assert server.asked == ["/a", "/b", "/c"]


@pytest.mark.parametrize(
    "answer",
    [hang, body(b"ab", length=5), body(b"", "503 Service Unavailable"), body(b"", "429 Slow")],
    ids=["hang", "cut", "503", "429"],
)
def test_download_what_may_pass_is_tried_again(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({"/x": in_turn(answer, body(b"whole"))}) as server:
        hasty(monkeypatch, first(server.asked))
        assert download(f"{server.url}/x", STEADY) == b"whole"
        assert server.asked == ["/x", "/x"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (hang, "the server sent nothing for 0.4 seconds, in 2 attempts"),
        (trickle, "the server did not finish within 1 seconds, in 2 attempts"),
        (trickled_head, "the server did not finish within 1 seconds, in 2 attempts"),
        (body(b"ab", length=5), "the server cut the answer after 2 bytes, in 2 attempts"),
        (close, "the server cut the answer, in 2 attempts"),
        (body(b"", "500 Oh"), "the server answers 500, in 2 attempts"),
    ],
    ids=["hang", "trickle", "head", "cut", "close", "500"],
)
def test_a_server_that_fails_again_and_again(answer: Answer, message: str) -> None:
    assert _fails(answer, attempts=2) == message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (body(b"", "404 Not Found"), "the server answers 404"),
        (body(b"", "403 Forbidden"), "the server answers 403"),
        (body(b"x", length=300_000), "is larger than 200,000 bytes"),
        (flood, "is larger than 200,000 bytes"),
        (redirect("file:///etc/passwd"), "redirects from http to file"),
        (redirect("ftp://example.test/x"), "redirects from http to ftp"),
    ],
    ids=["404", "403", "announced", "flood", "file", "ftp"],
)
def test_what_no_second_attempt_betters(answer: Answer, message: str) -> None:
    assert _fails(answer, attempts=1).startswith(message)


def test_a_loop_of_redirects_ends() -> None:
    with serving({"/a": redirect("/b"), "/b": redirect("/a")}) as server:
        with pytest.raises(InputError, match="redirects more than 5 times"):
            download(f"{server.url}/a", _CALM)
        assert len(server.asked) <= 12


def test_endless_redirects_end() -> None:
    answers = {f"/{at}": redirect(f"/{at + 1}") for at in range(50)}
    with serving(answers) as server:
        with pytest.raises(InputError, match="redirects more than 5 times"):
            download(f"{server.url}/0", _CALM)
        assert len(server.asked) == 6


def test_proxies_are_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving({"/x": body(b"found")}) as server:
        assert download(f"{server.url}/x", _CALM) == b"found"


def test_proxies_are_asked_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"http://example.test/x": body(b"by proxy")}) as server:
        monkeypatch.setenv("http_proxy", server.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert download("http://example.test/x", _CALM) == b"by proxy"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate that nobody has signed, for 127.0.0.1, and its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


def _tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_that_nobody_knows_is_refused(certificate: Path) -> None:
    with (
        serving({"/x": body(b"x")}, _tls(certificate)) as server,
        pytest.raises(InputError, match="the server's certificate is not trusted: self") as caught,
    ):
        download(f"{server.url}/x", _CALM)
    assert "REQUESTS_CA_BUNDLE" in str(caught.value.hint)


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_certificate_of_ones_own_is_trusted(
    certificate: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(certificate))
    with serving({"/x": body(b"private")}, _tls(certificate)) as server:
        assert download(f"{server.url}/x", _CALM) == b"private"


def test_encryption_is_not_given_up(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with (
        serving({"/x": body(b"plain")}) as plain,
        serving({"/x": redirect(f"{plain.url}/x")}, _tls(certificate)) as server,
        pytest.raises(InputError, match="redirects from https to http"),
    ):
        download(f"{server.url}/x", _CALM)
    assert plain.asked == []


def test_download_nobody_listens() -> None:
    with serving({}) as server:
        pass
    with pytest.raises(InputError, match=r"cannot be reached: .*, in 2 attempts"):
        download(f"{server.url}/x", _CALM)


@from_table("url", "message")
def test_urls_that_are_not_taken(url: str, message: str) -> None:
    error = error_of(InputError, download, url, _CALM)
    assert message in error.message
    assert "secret" not in str(error)


_SMALL = replace(DEFAULT, files=10, file=10_000, total=20_000, ratio_from=15_000)


def _refused(content: bytes, message: str) -> None:
    error = error_of(InputError, unpack, content, "lib.tar.gz", DEFAULT)
    assert message in error.message
    assert str(error).startswith("lib.tar.gz: ")


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


@from_table("name")
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
    error = error_of(InputError, unpack, pack(files), "x", _SMALL)
    assert message in error.message or "times its size" in error.message
