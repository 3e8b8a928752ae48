"""Downloads from servers that are slow, broken or hostile."""

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.network.downloads.download import download
from tests.hasty import first, hasty
from tests.loopback import at_length
from tests.self_signed import self_signed
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
        (
            redirect("file:///etc/passwd"),
            "redirects from http to file",
        ),
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


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.test/x", "is not an http or https URL"),
        ("file:///etc/passwd", "is not an http or https URL"),
        ("http://", "is not an http or https URL"),
        ("http://[x/", "is not an http or https URL"),
        ("http://example.test:port/x", "is not an http or https URL"),
        ("https://me:secret@example.test/x", "must not contain a name or password"),
    ],
)
def test_urls_that_are_not_taken(url: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        download(url, _CALM)
    assert message in caught.value.message
    assert "secret" not in str(caught.value)
