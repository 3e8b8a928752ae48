"""The server: tools listed and called over standard input and output."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from chartkit import __version__
from chartkit.addons.mcp.tools import declared, tools
from chartkit.addons.mcp.workers import Workers
from chartkit.errors import ChartkitError

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
