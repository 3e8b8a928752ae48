"""The server: tools listed and called over standard input and output."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from chartkit import __version__
from chartkit.addons.mcp.tools import tools
from chartkit.addons.mcp.workers import StoppedError, Workers

_ROOTS: Final = "roots"
_HEARTBEAT: Final = 1.0
"""Seconds between two reports of progress."""
_READ_ONLY: Final = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_INSTRUCTIONS: Final = """\
chartkit judges Kubernetes objects by Kyverno policies without a cluster, and says where and why.
- Paths are relative to the first root. YAML may stand in place of any path: a value with a line
  break is YAML, and has the name of its parameter in places (objects-1.yaml:7:5).
- scan finds violations; why and explain say more about one; fix proposes a diff; witness shows an
  object that passes. search and show find policies, lint checks them, test runs their tests,
  preview shows what they change, migrate converts ClusterPolicies to CEL, with a proof.
- Long answers are cut: notes says what was left out, and query (JMESPath) asks for a part.
- Nothing is written, and no connection is opened.
"""

_Context = ServerRequestContext[Workers]


async def serve(workers: Workers, folders: tuple[str, ...], room: int) -> None:
    """Serve the client at standard input and output until it ends. folders: the roots, in place of
    the client's; room: the characters of an answer."""

    async def call(
        context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in tools():
            message = f"there is no tool '{params.name}': there are {', '.join(tools())}"
            raise MCPError(types.INVALID_PARAMS, message)
        roots = _real(folders) if folders else await _roots(context, params)
        if roots is None:
            return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
        asked = {"tool": params.name, "arguments": params.arguments or {}, "room": room}
        try:
            async with _progress(context, params.name, workers.seconds):
                answer = await workers.ask({**asked, "roots": roots})
        except StoppedError as error:
            answer = {"text": str(error), "document": None, "is_error": True}
        return types.CallToolResult(
            content=[types.TextContent(text=answer["text"])],
            structured_content=answer["document"],
            is_error=answer["is_error"],
        )

    server: Server[Workers] = Server(
        "chartkit",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=_listed,
        on_call_tool=call,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _listed(_: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.input_schema,
                output_schema=tool.output_schema,
                annotations=_READ_ONLY,
            )
            for tool in tools().values()
        ]
    )


async def _roots(context: _Context, params: types.CallToolRequestParams) -> list[str] | None:
    """Return the client's roots, or the working directory if it has none; None where the client is
    to be asked by an answer that requires input."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return _real([os.getcwd()])
    if context.session.can_send_request:
        with warnings.catch_warnings():
            # Later versions of the protocol ask as below, and the library says so each time.
            warnings.simplefilter("ignore")
            answer = await context.session.list_roots()
    else:
        given = (params.input_responses or {}).get(_ROOTS)
        if not isinstance(given, types.ListRootsResult):
            return None
        answer = given
    urls = (urlsplit(str(root.uri)) for root in answer.roots)
    return _real(url2pathname(url.path) for url in urls if url.scheme == "file")


def _real(folders: Iterable[str]) -> list[str]:
    """Return folders without links in their paths; the root of the file system is none."""
    real = (os.path.realpath(folder) for folder in folders if "\0" not in folder)
    return list(dict.fromkeys(path for path in real if os.path.dirname(path) != path))


@asynccontextmanager
async def _progress(context: _Context, name: str, seconds: float) -> AsyncIterator[None]:
    """Report the seconds that a call has taken while it runs."""
    begin = time.monotonic()

    async def report() -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT)
            taken = round(time.monotonic() - begin)
            await context.session.report_progress(taken, seconds, f"{name}: {taken} s")

    reporting = asyncio.create_task(report())
    try:
        yield
    finally:
        reporting.cancel()
