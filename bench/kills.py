"""`python -m bench.kills`: `chartkit serve` under load, its workers killed, its policies replaced.

Clients send reviews as an API server does: with a connection that lasts, again where it is lost
before an answer, and with 10 s for all of it. Every answer is compared with the one that the engine
gives in this process. Beside them others send what is not a review, bodies of 10 MB, and bodies
that never end. Exits with 1 where an answer is lost or wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.load import Target, request_of
from bench.serve import children, expected_of, memory, reviews, say, served, write_policies
from chartkit.atomic import replacing

_PATH: Final = "/validate?timeout=10s"
_DEADLINE: Final = 10.0
_LARGE: Final = 10 << 20
_ODD: Final = (
    ("malformed", b'{"kind": "AdmissionReview"', "application/json", 400),
    ("not a review", b"[]", "application/json", 400),
    ("another type", b"{}", "application/yaml", 415),
    ("10 MB", b"x" * _LARGE, "application/json", 413),
    ("slow", b"{", "application/json", 408),
)
"""What other clients send: its name, body and type, and the status that it gets."""


@dataclass(slots=True)
class Tally:
    """What came back. repeated: requests that were sent again, by reason; odd: statuses by the name
    of what was sent."""

    answers: int = 0
    denied: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    repeated: Counter[str] = field(default_factory=Counter)
    odd: Counter[tuple[str, int]] = field(default_factory=Counter)
    slowest: float = 0.0
    kills: int = 0
    sets: int = 0


class Client:
    """A connection that is opened again when it is lost."""

    def __init__(self, target: Target, context: ssl.SSLContext) -> None:
        self._target = target
        self._context = context
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request once; raise OSError or EOFError where the connection is lost."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                self._target.host, self._target.port, ssl=self._context
            )
        reader, writer = self._streams
        try:
            writer.write(request)
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            at = head.lower().index(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0])
            return int(head[9:12]), await reader.readexactly(length)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection up."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class Run:
    """One run. expected: the response of each review, without its UID."""

    def __init__(
        self, target: Target, bodies: Sequence[bytes], expected: Sequence[Any], seconds: float
    ) -> None:
        self.tally = Tally()
        self._target = target
        self._requests = [request_of(target, body) for body in bodies]
        self._uids = [json.loads(body)["request"]["uid"] for body in bodies]
        self._expected = expected
        self._end = time.monotonic() + seconds
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE

    @property
    def is_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self._end

    async def reviews(self, number: int, pause: float) -> None:
        """Send one review after the other."""
        client = Client(self._target, self._context)
        while self.is_on:
            number = (number + 7) % len(self._requests)
            await self._review(client, number)
            await asyncio.sleep(pause)
        client.close()

    async def _review(self, client: Client, number: int) -> None:
        tally, begun = self.tally, time.monotonic()
        try:
            async with asyncio.timeout(_DEADLINE):
                while True:
                    try:
                        status, body = await client.send(self._requests[number])
                        break
                    except (OSError, EOFError) as error:
                        tally.repeated[type(error).__name__] += 1
                        await asyncio.sleep(0.02)
        except TimeoutError:
            tally.lost.append(self._uids[number])
            return
        tally.slowest = max(tally.slowest, time.monotonic() - begun)
        tally.answers += 1
        response = json.loads(body)["response"] if status == 200 else {"status": status}
        tally.denied += response.get("allowed") is False
        if response != {"uid": self._uids[number], **self._expected[number]}:
            tally.wrong.append(f"{self._uids[number]}: {str(response)[:200]}")

    async def odd(self, pause: float) -> None:
        """Send what is not a review, in turn."""
        while self.is_on:
            for name, body, media, expected in _ODD:
                length = 100 if name == "slow" else len(body)
                request = request_of(self._target, body, media, length)
                client = Client(self._target, self._context)
                try:
                    async with asyncio.timeout(2 * _DEADLINE):
                        status, _ = await client.send(request)
                except (OSError, EOFError):
                    status = 0  # Its worker was killed, or it does not listen while it sends.
                self.tally.odd[name, status] += 1
                if status not in (expected, 0):
                    self.tally.wrong.append(f"{name}: status {status}")
                client.close()
                await asyncio.sleep(pause)

    async def kills(self, process: int, every: float) -> None:
        """Kill a worker from time to time."""
        while every and self.is_on:
            await asyncio.sleep(every)
            if workers := workers_of(process):
                os.kill(workers[self.tally.kills % len(workers)], signal.SIGKILL)
                self.tally.kills += 1

    async def sets(self, policies: Path, every: float, broken: bool) -> None:
        """Replace the policies by equal ones; broken: at times by ones that cannot be read."""
        text = policies.read_text("utf-8")
        while every and self.is_on:
            await asyncio.sleep(every)
            self.tally.sets += 1
            rest = "\n---\nkind: [" if broken and self.tally.sets % 3 == 0 else ""
            with replacing(policies) as file:
                file.write(f"# {self.tally.sets}\n{text}{rest}".encode())
        policies.write_text(text, "utf-8")

    async def shown(self, process: int, every: float) -> None:
        """Print what came back so far, and the memory of each worker."""
        begun = time.monotonic()
        while self.is_on:
            await asyncio.sleep(min(every, max(0.1, self._end - time.monotonic())))
            tally = self.tally
            sizes = ", ".join(f"{memory(each):.0f}" for each in workers_of(process))
            say(
                f"{time.monotonic() - begun:5.0f} s: {tally.answers} answers, {len(tally.lost)} "
                f"lost, {len(tally.wrong)} wrong, {tally.kills} kills, {tally.sets} new sets; "
                f"workers {sizes} MB"
            )


def workers_of(process: int) -> list[int]:
    """Return the processes that judge: those that have a pipe to the supervisor."""
    found = []
    for each in children(process):
        try:
            command = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:
            continue
        found += [each] if b"spawn_main" in command else []
    return found


async def run(given: argparse.Namespace, policies: Path, port: int, process: int) -> Tally:
    """Run all clients to the end."""
    target = Target("127.0.0.1", port, _PATH)
    bodies = reviews(500)
    one = Run(target, bodies, expected_of(policies, bodies), given.minutes * 60)
    pause = given.clients / given.rate
    await asyncio.gather(
        *(one.reviews(number * 31, pause) for number in range(given.clients)),
        *(one.odd(given.odd_pause) for _ in range(2)),
        one.kills(process, given.kill_every),
        one.sets(policies, given.new_set_every, given.broken),
        one.shown(process, given.show_every),
    )
    return one.tally


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what came back, and exit with 1 where an answer is lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rate", type=float, default=300.0, help="reviews a second, together")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=4.0, help="seconds, 0 for never")
    parser.add_argument("--new-set-every", type=float, default=3.0, help="seconds, 0 for never")
    parser.add_argument(
        "--broken",
        action="store_true",
        help="a third of the sets cannot be read, with which no worker starts",
    )
    parser.add_argument("--odd-pause", type=float, default=0.5, help="seconds between odd requests")
    parser.add_argument("--show-every", type=float, default=30.0, help="seconds")
    parser.add_argument("--log-level", default="error", help="of the server")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        policies = Path(folder) / "policies.yaml"
        write_policies(policies)
        with served(policies, given.workers, given.log_level) as (port, process):
            tally = asyncio.run(run(given, policies, port, process.pid))
            is_up = process.poll() is None
    odd = {f"{name} {status}": count for (name, status), count in sorted(tally.odd.items())}
    say(
        f"{tally.answers} answers ({tally.denied} denials), {len(tally.lost)} lost, "
        f"{len(tally.wrong)} wrong; sent again: {dict(tally.repeated)}; slowest "
        f"{tally.slowest:.2f} s; {tally.kills} kills, {tally.sets} new sets\nodd requests: {odd}"
    )
    for each in (*tally.lost[:5], *tally.wrong[:5]):
        say(f"  {each}")
    sys.exit(1 if tally.lost or tally.wrong or not is_up else 0)


if __name__ == "__main__":
    main()
