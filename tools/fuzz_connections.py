"""Sends `chartkit serve` what is no TLS, no HTTP, or half of it, and checks that it still answers.

    python -m tools.fuzz_connections [--count 300] [--seed 1]

Each input is a connection, with or without TLS: records, heads, chunks and frames of HTTP/2, whole,
cut and changed. A finding is a server that ends or no longer answers `/livez`, an error in its log,
and an answer with status 500. `--seed N --count 1` is the input of number N.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_POLICY: Final = Path(__file__).with_name("fuzz_inputs") / "policy.yaml"
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_BODY: Final = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}}'
)
_HEAD: Final = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
_LINES: Final = (
    *(
        b"Content-Length: 9\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 99999999999999999\r\n",
    ),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b": x\r\n"),
    *(b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"\0: \xff\r\n"),
    *(b"X: " + b"a" * 70_000 + b"\r\n", b" folded\r\n", b"Host: a\r\nHost: b\r\n", b"\n\n"),
)
_CHUNKS: Final = (b"5\r\nhello\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"5;x=y\r\n")
_RECORDS: Final = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    b"\x15\x03\x03\x00\x02\x02\x00",
    b"\x80\x2e",
)
_SECONDS: Final = 0.2
"""How long an answer is waited for: most inputs have none."""


def made(pick: random.Random) -> tuple[bool, list[bytes]]:
    """Return whether an input comes over TLS, and its pieces."""
    kind = pick.randrange(4)
    if kind == 0:
        parts = [pick.choice(_RECORDS), pick.randbytes(pick.randint(0, 2_000))]
    elif kind == 1:
        parts = [_HEAD, *pick.choices(_LINES, k=pick.randint(0, 4)), b"\r\n", _BODY]
    elif kind == 2:
        parts = [_HEAD, _LINES[3], b"\r\n", *pick.choices(_CHUNKS, k=pick.randint(1, 9))]
    else:
        parts = [_PREFACE, *(_frame(pick) for _ in range(pick.randint(0, 20)))]
    whole = b"".join(parts)
    for _ in range(pick.choice((0, 0, 1, 3))):
        at = pick.randrange(len(whole))
        whole = whole[:at] + pick.randbytes(pick.randint(0, 3)) + whole[at + pick.randint(0, 3) :]
    whole = whole[: pick.choice((len(whole), pick.randint(1, len(whole))))]
    cut = pick.randint(0, len(whole))
    return kind != 0 and pick.random() < 0.9, [whole[:cut], whole[cut:]]


def _frame(pick: random.Random) -> bytes:
    content = pick.randbytes(pick.choice((0, 4, 5, 6, 8, 36, 300)))
    length = pick.choice((len(content), len(content), pick.randrange(1 << 24)))
    number = pick.choice((0, 1, 3, pick.randrange(1 << 31)))
    kind, flags = pick.randrange(12), pick.randrange(256)
    return length.to_bytes(3, "big") + bytes((kind, flags)) + number.to_bytes(4, "big") + content


def send(port: int, is_encrypted: bool, pieces: list[bytes]) -> bytes:
    """Send an input, and return the start of the answer."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2" if pieces[0].startswith(b"PRI") else "http/1.1"])
    with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
        client = opened.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        if is_encrypted:
            client = opened.enter_context(context.wrap_socket(client))
        for piece in pieces:
            client.sendall(piece)
        client.settimeout(_SECONDS)
        return client.recv(200)
    return b""


@contextlib.contextmanager
def served(
    folder: Path, lines: list[dict[str, object]]
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a server, and collect the lines of its log."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "chartkit", "serve", "--port", str(port), "--workers", "1"]
    command += ["--tls-folder", str(folder), "-p", str(_POLICY), "--body-timeout", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        log = process.stderr
        reader = threading.Thread(target=lambda: lines.extend(map(json.loads, log)))
        reader.start()
        try:
            while process.poll() is None and not is_alive(port):
                time.sleep(0.2)
            yield port, process
        finally:
            process.terminate()
            process.wait(60)
            reader.join()


def is_alive(port: int) -> bool:
    """Return whether the server says that it is."""
    head = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    return any(send(port, True, [head]).startswith(b"HTTP/1.1 200") for _ in range(25))


def main() -> int:
    """Run as the options say; 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found: list[str] = []
    lines: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), lines) as (port, process):
        for seed in range(given.seed, given.seed + given.count):
            said = send(port, *made(random.Random(seed)))
            if said.startswith(b"HTTP/1.1 500") or process.poll() is not None:
                found.append(f"number {seed}: {said!r}, the server's exit is {process.poll()}")
        if not is_alive(port):
            found.append("the server does not answer /livez")
    found += [json.dumps(each) for each in lines if each["level"] == "error"]
    found += [
        json.dumps(each)
        for each in lines
        if each["message"] == "a worker ended: another one starts"
    ]
    sys.stdout.write("\n".join([f"{given.count} inputs, {len(found)} findings", *found]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
