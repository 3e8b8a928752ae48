"""A server on loopback with files, and with repositories of git over HTTP."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.files import write_files
from tests.loopback import LoopbackServer, QuietHandler, running

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
    server = LoopbackServer(("127.0.0.1", 0), _Handler)
    with running(server) as place:
        served = Served(f"http://{place}", root)
        server.served = served  # type: ignore[attr-defined]
        yield served


class _Handler(QuietHandler):
    def do_GET(self) -> None:
        served: Served = self.server.served  # type: ignore[attr-defined]
        path = self.path.partition("?")[0]
        served.asked.append(self.path)
        if path in served.redirects:
            self.answer(302, b"", Location=served.redirects[path])
        elif path.endswith(_INFO) and (served.root / path[1 : -len(_INFO)]).is_dir():
            folder = served.root / path[1 : -len(_INFO)]
            found = _git(["upload-pack", "--http-backend-info-refs", str(folder)], b"")
            self.answer(200, b"001e# service=git-upload-pack\n0000" + found)
        else:
            content = served.files.get(path)
            self.answer(404 if content is None else 200, content or b"")

    def do_POST(self) -> None:
        served: Served = self.server.served  # type: ignore[attr-defined]
        served.asked.append(self.path)
        folder = served.root / self.path.removesuffix("/git-upload-pack")[1:]
        self.answer(200, _git(["upload-pack", "--stateless-rpc", str(folder)], self.content()))


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
