"""Child processes that answer calls: one is warm, others start when calls come at the same time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chartkit.cli.options.groups import cores
from chartkit.errors import ChartkitError

_MOST: Final = 4
"""The most calls that are answered at a time."""
_LONGEST: Final = 16 << 20
"""The bytes of the longest answer."""
_CODE: Final = "import sys; from chartkit.addons.mcp.worker import main; main(*sys.argv[1:])"


class StoppedError(ChartkitError):
    """A call that was ended, or whose process ended."""


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, and the folder of its temporary files; roots: those that its rights are for, None
    before its first call."""

    process: asyncio.subprocess.Process
    folder: str
    roots: list[str] | None = None

    async def ask(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a call; raise StoppedError if there is none."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(ConnectionError):
            stdin.write(json.dumps(call).encode() + b"\n")
            await stdin.drain()
        line = await stdout.readline()
        if not line:
            code = await self.process.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise StoppedError(f"the process of the call was ended ({how})")
        self.roots = call["roots"]
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def end(self) -> None:
        """End the process and those that it started, and remove its files."""
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(slots=True)
class Workers:
    """The processes; folder: for their temporary files; seconds: the time of a call."""

    folder: Path
    seconds: float
    _idle: list[_Worker] = field(default_factory=list)
    _free: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(min(cores(), _MOST)), init=False
    )

    async def start(self) -> None:
        """Start a process for the first call."""
        self._idle.append(await self._started())

    async def ask(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a call; raise StoppedError if there is none within the time. A call
        that is cancelled ends."""
        async with self._free:
            worker = await self._taken(call["roots"])
            is_broken = True
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await worker.ask(call)
                is_broken = answer["broken"]
                return answer
            except TimeoutError:
                hint = "ask about fewer objects or policies, or start chartkit mcp --seconds N"
                message = f"there is no answer within {self.seconds:g} s"
                raise StoppedError(message, hint=hint) from None
            finally:
                if is_broken:
                    await worker.end()
                else:
                    self._idle.append(worker)

    async def close(self) -> None:
        """End the processes that no call has."""
        while self._idle:
            await self._idle.pop().end()

    async def _taken(self, roots: list[str]) -> _Worker:
        """Return an idle process whose rights are for the roots, or a new one."""
        while self._idle:
            worker = self._idle.pop()
            if worker.process.returncode is None and worker.roots in (None, roots):
                return worker
            await worker.end()
        return await self._started()

    async def _started(self) -> _Worker:
        folder = tempfile.mkdtemp(dir=self.folder)
        own = {"TMPDIR": folder, "CHARTKIT_CACHE": f"{folder}/cache", "KUBECONFIG": os.devnull}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _CODE, str(os.getpid()), folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **own},
            limit=_LONGEST,
            start_new_session=True,
        )
        return _Worker(process, folder)
