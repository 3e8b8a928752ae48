"""What commands talk to while they are fuzzed: an API server that answers from a file, and the
admission server, which is asked without a connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from chartkit.addons.serve.admission.judge import PolicyReloader
from chartkit.addons.serve.admission.limits import ServerSettings
from chartkit.addons.serve.admission.metrics import Metrics
from chartkit.addons.serve.admission.reports import ReportFolder, Reports
from chartkit.addons.serve.admission.selection import Served
from chartkit.addons.serve.admission.server import Application
from chartkit.addons.serve.admission.telemetry import Log, NoSpans
from chartkit.documents.reader import read_file, resources
from chartkit.engine import RunnablePolicy, compile_any
from chartkit.engine.cleanup import Cleaner
from chartkit.errors import CompileError

ANSWERS: Final = "answers.json"
"""The file with the answers of an API server, by the paths of requests."""
REVIEW: Final = "review"
"""A command of the fuzzer's own: `review PATH POLICIES REVIEW` asks the admission server."""
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: u, user: {token: t}}]
"""


@contextlib.contextmanager
def api_server(folder: Path, kubeconfig: Path) -> Iterator[None]:
    """Answer requests with what a file in a folder has for them, and write a kubeconfig."""
    try:
        answers = json.loads((folder / ANSWERS).read_bytes())
    except (OSError, ValueError):
        answers = None
    handler = type("Handler", (_Handler,), {"answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    port = str(server.server_port)
    kubeconfig.write_text(_KUBECONFIG.replace("PORT", port))
    for file in folder.glob("*.yaml"):
        file.write_bytes(file.read_bytes().replace(b"PORT", port.encode()))
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    answers: ClassVar[Any] = None

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        known = self.answers if isinstance(self.answers, dict) else {}
        path = urlsplit(self.path).path
        body = known.get(path, {"kind": "Status", "code": 404, "message": "not found"})
        content = json.dumps(body).encode()
        self.send_response(200 if path in known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _File:
    """The policies of one file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def load(self) -> Served:
        found: list[RunnablePolicy] = []
        for each in resources(read_file(self._file)):
            # The others are refused before a server has them.
            with contextlib.suppress(CompileError):
                policy = compile_any(each)
                if not isinstance(policy, Cleaner):
                    found.append(policy)
        return Served(tuple(found))

    def changed(self) -> bool:
        return False

    def close(self) -> None: ...


def review(arguments: Sequence[str]) -> None:
    """Ask the admission server about a review, and write its answer; raise RuntimeError for one
    that stands for a bug."""
    path, policies, body = arguments
    log = Log("debug", sys.stdout.buffer.write)
    reports = Reports(ReportFolder(Path("reports")), log)
    settings = ServerSettings(host="127.0.0.1", port=1, certificate=Path(), key=Path())
    reloader = PolicyReloader(_File(Path(policies)), log, 1.0)
    application = Application(settings, reloader, log, Metrics(Path()), reports, NoSpans())
    scope = {
        "type": "http",
        "path": path,
        "method": "POST",
        "headers": [(b"content-type", b"application/json")],
    }
    try:
        status, content = asyncio.run(_asked(application, scope, Path(body).read_bytes()))
    finally:
        reports.close()
    sys.stdout.buffer.write(content + b"\n")
    if status == 500:
        raise RuntimeError(content.decode())
    if status == 200:
        json.loads(content)


async def _asked(application: Application, scope: Any, body: bytes) -> tuple[int, bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    return sent[0]["status"], b"".join(each["body"] for each in sent[1:])
