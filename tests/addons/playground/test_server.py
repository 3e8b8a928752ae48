"""`chartkit playground`: the files of a built page, to this machine alone."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.addons.playground.server import HOST, POLICY
from tests.addons.playground.browser import served
from tests.e2e.command import chartkit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / "engine-0123456789ab").mkdir(parents=True)
    (page / "index.html").write_text("<p>here</p>")
    (page / "engine-0123456789ab" / "pyodide.asm.wasm").write_bytes(b"\0asm")
    (page / "notes.txt").write_text("no file of a page")
    (tmp_path / "secret.json").write_text("{}")
    (page / "link.json").symlink_to(tmp_path / "secret.json")
    return page


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with served(folder) as url:
        yield url.removeprefix("http://").rstrip("/")


def got(address: str, path: str, method: str = "GET", host: str = "") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(method, path, headers={"Host": host or address})
    return connection.getresponse()


def test_files_have_their_types_and_strict_headers(address: str) -> None:
    response = got(address, "/?a=b")
    assert (response.status, response.read()) == (200, b"<p>here</p>")
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Security-Policy"].startswith(POLICY)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-cache"
    response = got(address, "/engine-0123456789ab/pyodide.asm.wasm", "HEAD")
    assert (response.status, response.read()) == (200, b"")
    assert response.headers["Content-Type"] == "application/wasm"
    assert response.headers["Content-Length"] == "4"
    assert "immutable" in response.headers["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    [
        "/notes.txt",
        "/link.json",
        "/../secret.json",
        "/%2e%2e/secret.json",
        "/engine-0123456789ab/",
        "//secret.json",
        "/" + "a" * 60_000,
    ],
)
def test_anything_else_is_not_there(address: str, path: str) -> None:
    response = got(address, path)
    assert response.status == 404
    assert response.headers["Content-Security-Policy"].startswith(POLICY)


def test_other_names_and_methods_are_refused(address: str) -> None:
    port = address.rpartition(":")[2]
    assert got(address, "/", host=f"localhost:{port}").status == 200
    assert got(address, "/", host="page.example").status == 421
    assert got(address, "/", method="POST").status == 501
    assert address.startswith(f"{HOST}:")


def test_a_folder_without_a_page(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "playground")
    assert done.code == 2
    assert done.line == (
        "build/site/playground: holds no built playground (`make site` in chartkit's repository "
        "builds it in build/site/playground)"
    )


def test_a_port_that_is_taken(folder: Path, address: str) -> None:
    done = chartkit(folder, "playground", ".", "--port", address.rpartition(":")[2])
    assert done.code == 2
    assert "--port names another" in done.line
