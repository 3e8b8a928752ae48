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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from chartkit.cli.options import cores
from chartkit.errors import ChartkitError
from chartkit.helm.sandbox.confine import Exit
from chartkit.helm.sandbox.process import DEFAULT, size

_MOST: Final = 4
"""The most calls that are answered at a time."""
_CODE: Final = (
    f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); "
    "from chartkit.addons.mcp.worker import main; main(*sys.argv[1:])"
)


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, and the folder of its temporary files; roots: None before its first call."""

    process: asyncio.subprocess.Process
    folder: str
    roots: list[str] | None = None

    async def ask(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a call; raise ChartkitError if the process gives no answer."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(ConnectionError):
            stdin.write(json.dumps(call).encode() + b"\n")
            await stdin.drain()
        if line := await stdout.readline():
            self.roots = call["roots"]
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = await self.process.wait()
        if code == Exit.MEMORY:
            what = f"the call needs more than {size(DEFAULT.memory)} of memory"
            raise ChartkitError(what, hint="name fewer or smaller files")
        raise ChartkitError(f"the process of the call was ended (exit code {code})")

    async def end(self) -> None:
        """End the process and those that it started, and remove its files."""
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Workers:
    """The processes."""

    def __init__(self, folder: Path, seconds: float) -> None:
        """folder: for their temporary files; seconds: the time of a call."""
        self.seconds = seconds
        self._folder = folder
        self._idle: list[_Worker] = []
        self._free = asyncio.Semaphore(min(cores(), _MOST))

    async def start(self) -> None:
        """Start a process for the first call."""
        self._idle.append(await self._started())

    async def ask(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a call; raise ChartkitError if it takes too long. The process of a
        call that is cancelled ends."""
        async with self._free:
            worker, is_well = await self._taken(call["roots"]), False
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await worker.ask(call)
                is_well = True
                return answer
            except TimeoutError:
                hint = "ask about fewer objects or policies, or start chartkit mcp --seconds N"
                message = f"there is no answer within {self.seconds:g} s"
                raise ChartkitError(message, hint=hint) from None
            finally:
                if is_well:
                    self._idle.append(worker)
                else:
                    await worker.end()

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
        folder = tempfile.mkdtemp(dir=self._folder)
        own = {"TMPDIR": folder, "CHARTKIT_CACHE": f"{folder}/cache", "KUBECONFIG": os.devnull}
        process = await asyncio.create_subprocess_exec(
            # Without -P a module in the working directory, which is a root, would be imported.
            *(sys.executable, "-P", "-c", _CODE, str(os.getpid()), folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **own},
            limit=16 << 20,
            start_new_session=True,
        )
        return _Worker(process, folder)
