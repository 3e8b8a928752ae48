"""`chartkit playground`: the files of a built page, on loopback, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import click

from chartkit.cli.options import number_option
from chartkit.errors import InputError
from chartkit.model import Location

HOST: Final = "127.0.0.1"
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self' blob:",
        "connect-src 'self'",
        "style-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
"""The content security policy of the page, which its worker has as well."""
_INDEX: Final = "index.html"
_HOW: Final = "`make site` in chartkit's repository builds it in build/site/playground"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
    ".zip": "application/zip",
}
_HEADERS: Final = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_HASHED: Final = re.compile(r"/[\w-]+-[0-9a-f]{12}[/.]")
_SECONDS: Final = 30


@click.command()
@click.argument("folder", default="build/site/playground", type=click.Path(path_type=Path))
@number_option("--port", (0, 65535), 8000, "The port of 127.0.0.1 to listen at; 0 takes any.")
def playground(folder: Path, port: int) -> None:
    """Serve the playground, a page in which chartkit's engine runs policies in the browser, from
    the FOLDER that it was built in (build/site/playground if not given) to this machine alone.

    Ctrl-C ends it.
    """

    with serving(pages(folder), port) as server:
        click.echo(f"the playground is at http://{HOST}:{server.server_port}/ (Ctrl-C ends it)")
        server.serve_forever()


def pages(folder: Path) -> Mapping[str, Path]:
    """Return the files of a built page by URL path; raise InputError for an empty folder."""
    if not (folder / _INDEX).is_file():
        raise InputError("holds no built playground", Location(str(folder)), _HOW)
    root = folder.resolve()
    files = {
        f"/{file.relative_to(root).as_posix()}": file
        for file in root.rglob("*")
        if file.suffix in _TYPES and file.is_file() and file.resolve().is_relative_to(root)
    }
    return {**files, "/": root / _INDEX}


def serving(files: Mapping[str, Path], port: int) -> ThreadingHTTPServer:
    """Return a server of files at a port here, 0 for any; raise InputError for a taken port."""

    class Handler(_Handler):
        known = files

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        message = f"port {port} of {HOST} cannot be used: {error.strerror}"
        raise InputError(message, hint="--port names another, 0 any that is free") from None


class _Handler(SimpleHTTPRequestHandler):
    """Answers GET and HEAD for the files, of requests that name this machine."""

    known: Mapping[str, Path] = {}
    extensions_map = _TYPES
    server: ThreadingHTTPServer
    server_version = "chartkit"
    sys_version = ""
    timeout = _SECONDS

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def send_head(self) -> Any:
        """Send the headers of a file, and return it; None where an error is sent instead."""
        port = self.server.server_port
        # A page elsewhere can give its own name this machine's address.
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif self.path.partition("?")[0] not in self.known:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            return super().send_head()
        return None

    def translate_path(self, path: str) -> str:
        """Return the file at a path of a URL."""
        return str(self.known[path.partition("?")[0]])

    def end_headers(self) -> None:
        """End the headers of any answer, with those that each has."""
        is_kept = _HASHED.match(self.path) is not None and self.path in self.known
        kept = "public, max-age=31536000, immutable" if is_kept else "no-cache"
        for name, value in {**_HEADERS, "Cache-Control": kept}.items():
            self.send_header(name, value)
        super().end_headers()

    def handle_one_request(self) -> None:
        """Answer a request; ignore one that breaks off."""
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True
