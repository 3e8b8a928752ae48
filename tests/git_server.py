"""A server on loopback with files, and with repositories of git over HTTP."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.files import write_files
from tests.loopback import LoopbackServer

_INFO = "/info/refs"


@dataclass
class Served:
    """What a server has. files: by path; redirects: by path, where to; root: the folder of
    repositories; asked: the paths that were asked for."""

    url: str
    root: Path
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Host and port."""
        return self.url.removeprefix("http://")


@contextmanager
def serving(root: Path) -> Iterator[Served]:
    """Serve repositories below a folder, and files."""
    with LoopbackServer(("127.0.0.1", 0), _Handler) as server:
        served = Served(f"http://127.0.0.1:{server.server_port}", root)
        server.served = served  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield served
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        served: Served = self.server.served  # type: ignore[attr-defined]
        path = self.path.partition("?")[0]
        served.asked.append(self.path)
        if path in served.redirects:
            self.send_response(302)
            self.send_header("Location", served.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path.endswith(_INFO) and (served.root / path[1 : -len(_INFO)]).is_dir():
            folder = served.root / path[1 : -len(_INFO)]
            found = _git(["upload-pack", "--http-backend-info-refs", str(folder)], b"")
            self._send(200, b"001e# service=git-upload-pack\n0000" + found)
        else:
            content = served.files.get(path)
            self._send(404 if content is None else 200, content or b"")

    def do_POST(self) -> None:
        served: Served = self.server.served  # type: ignore[attr-defined]
        served.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        folder = served.root / self.path.removesuffix("/git-upload-pack")[1:]
        self._send(200, _git(["upload-pack", "--stateless-rpc", str(folder)], body))

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _git(arguments: list[str], given: bytes) -> bytes:
    environment = {**os.environ, "GIT_PROTOCOL": "version=2"}
    configured = ("-c", "uploadpack.allowAnySHA1InWant=true", "-c", "safe.directory=*")
    command = ["git", *configured, *arguments]
    return subprocess.run(
        command, input=given, capture_output=True, check=True, env=environment
    ).stdout


def repository(folder: Path, files: dict[str, str]) -> str:
    """Make a repository with one more commit, and return that."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files)
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
