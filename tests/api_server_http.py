"""HTTP for `tests.api_server`: requests come in as data, answers go out as JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from chartkit.model import Body
from tests.loopback import QuietHandler
from tests.protobuf_records import MAGIC, read_record

TOKEN: Final = "a-token-that-nobody-may-see"


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """An answer that is an error: its HTTP status, the reason and the message of a Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
        }
        self.code = code


@dataclass(frozen=True, slots=True)
class Request:
    """What came in; path: without the query; query: the last value of each parameter."""

    method: str
    path: str
    query: Mapping[str, str]
    kind_of_patch: str
    body: Body | None


Reply = Callable[[Request], tuple[int, Body]]
Watch = Callable[[Request], Iterator[tuple[str, Body]]]


def handler(reply: Reply, watch: Watch) -> type[QuietHandler]:
    """The handler of a server's connections; reply gives status and answer, watch may raise
    Refused when it is first asked."""

    class Bound(_Handler):
        ways = (reply, watch)

    return Bound


class _Handler(QuietHandler):
    ways: tuple[Reply, Watch]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _serve(self) -> None:
        url = urlsplit(self.path)
        content = self.content()
        request = Request(
            self.command,
            unquote(url.path).rstrip("/"),
            {key: values[-1] for key, values in parse_qs(url.query).items()},
            self.headers.get("Content-Type", "").partition("+")[0].partition("/")[2],
            _body(content),
        )
        try:
            # Go's client keeps a token to itself where there is no TLS.
            if self.headers.get("Authorization") not in (None, f"Bearer {TOKEN}"):
                raise Refused(401, "Unauthorized", "Unauthorized")
            if request.query.get("watch") in ("true", "1"):
                self._watch(request)
                return
            code, body = self.ways[0](request)
        except Refused as refused:
            code, body = refused.code, refused.body
        self._send(code, json.dumps(body).encode())

    def _send(self, code: int, content: bytes) -> None:
        try:
            # As an API server: Helm would keep an answer that a clock ahead of its own dates.
            uncached = {"Cache_Control": "no-cache, private"}
            self.answer(code, content, Content_Type="application/json", **uncached)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _watch(self, request: Request) -> None:
        events = self.ways[1](request)
        first = next(events, None)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.close_connection = True
        try:
            while first is not None:
                event = {"type": first[0], "object": first[1]}
                self.wfile.write(json.dumps(event).encode() + b"\n")
                self.wfile.flush()
                first = next(events, None)
        except (BrokenPipeError, ConnectionResetError):
            return


def _body(content: bytes) -> Body | None:
    if content.startswith(MAGIC):
        return read_record(content)
    return json.loads(content) if content else None
