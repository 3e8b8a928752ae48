"""The server: tools listed and called over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from chartkit import __version__
from chartkit.addons.mcp.tools import declared, tools
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


_ROOTS: Final = "roots"
_READ_ONLY: Final = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_Context = ServerRequestContext[Workers]


async def serve(workers: Workers, folders: tuple[str, ...]) -> None:
    """Serve the client at standard input and output until it ends; folders: the roots, in place of
    the client's."""

    async def call(
        context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in tools():
            message = f"there is no tool '{params.name}': there are {', '.join(tools())}"
            raise MCPError(types.INVALID_PARAMS, message)
        roots = _real(folders) if folders else await _roots(context, params)
        if roots is None:
            return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
        asked = {"tool": params.name, "arguments": params.arguments or {}, "roots": roots}
        asking = asyncio.create_task(workers.ask(asked))
        try:
            seconds = 0
            while not (await asyncio.wait([asking], timeout=1))[0]:
                seconds += 1
                message = f"{params.name}: {seconds} s"
                await context.session.report_progress(seconds, workers.seconds, message)
            answer = asking.result()
        except ChartkitError as error:
            answer = {"text": str(error), "document": None, "is_error": True}
        finally:
            asking.cancel()
        return types.CallToolResult(
            content=[types.TextContent(text=answer["text"])],
            structured_content=answer["document"],
            is_error=answer["is_error"],
        )

    server: Server[Workers] = Server(
        "chartkit",
        version=__version__,
        instructions=declared()["instructions"],
        on_list_tools=_listed,
        on_call_tool=call,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _listed(_: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    names = ("name", "title", "description", "input_schema", "output_schema")
    rows = ({name: getattr(tool, name) for name in names} for tool in tools().values())
    return types.ListToolsResult(tools=[types.Tool(**own, annotations=_READ_ONLY) for own in rows])


async def _roots(context: _Context, params: types.CallToolRequestParams) -> list[str] | None:
    """Return the client's roots, or the working directory if it has none; None where the client is
    to be asked by an answer that requires input."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return _real([os.getcwd()])
    answer = (params.input_responses or {}).get(_ROOTS)
    if context.session.can_send_request:
        with warnings.catch_warnings():
            # Later versions of the protocol ask by an answer, and the library says so each time.
            warnings.simplefilter("ignore")
            answer = await context.session.list_roots()
    if not isinstance(answer, types.ListRootsResult):
        return None
    urls = (urlsplit(str(root.uri)) for root in answer.roots)
    return _real(url2pathname(url.path) for url in urls if url.scheme == "file")


def _real(folders: Iterable[str]) -> list[str]:
    """Return folders without links in their paths; the root of the file system is left out."""
    real = (os.path.realpath(folder) for folder in folders if "\0" not in folder)
    return list(dict.fromkeys(path for path in real if os.path.dirname(path) != path))
