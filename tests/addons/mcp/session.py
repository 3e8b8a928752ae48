"""A session of the protocol's official client with `chartkit mcp`."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic import FileUrl

from chartkit.addons.mcp.tools import tools
from chartkit.cli.schema import output_schema

T = TypeVar("T")
COMMAND = shutil.which("chartkit", path=str(Path(sys.executable).parent)) or "chartkit"
"""The installed command."""
Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call: its text, and the JSON document where it has one."""

    text: str
    document: Any
    is_error: bool


@asynccontextmanager
async def session(
    cwd: Path,
    *arguments: str,
    roots: Sequence[Path] | None = None,
    mode: str = "legacy",
    log: Path | None = None,
) -> AsyncIterator[Client]:
    """Yield a client of a server in a folder; roots: those of the client, None for a client without
    any; log: a file for the server's standard error."""

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        assert context is not None
        found = [types.Root(uri=FileUrl(root.as_uri())) for root in roots or ()]
        return types.ListRootsResult(roots=found)

    server = StdioServerParameters(command=COMMAND, args=["mcp", *arguments], cwd=cwd)
    with (log or cwd.parent / "mcp.log").open("w") as errors:
        async with Client(
            stdio_client(server, errors),
            mode=mode,
            list_roots_callback=None if roots is None else list_roots,
        ) as client:
            yield client


async def ask(client: Client, name: str, arguments: Mapping[str, Any], **more: Any) -> Reply:
    """Call a tool."""
    answer = await client.call_tool(name, dict(arguments), **more)
    (content,) = answer.content
    assert isinstance(content, types.TextContent)
    return Reply(content.text, answer.structured_content, bool(answer.is_error))


def check(name: str, reply: Reply) -> None:
    """Check the document of a tool's answer by the strict schema of its command."""
    if reply.document is not None and "queried" not in reply.document:
        document = {key: value for key, value in reply.document.items() if key != "notes"}
        jsonschema.validate(document, output_schema(tools()[name].output))


def talk(work: Callable[[Client], Awaitable[T]], cwd: Path, *arguments: str, **options: Any) -> T:
    """Return what a session gives."""

    async def run() -> T:
        async with session(cwd, *arguments, **options) as client:
            return await work(client)

    return asyncio.run(run())
