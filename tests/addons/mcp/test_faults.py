from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client.client import Client

from tests.addons.mcp.session import Reply, ask, check, talk
from tests.shared import shared

pytestmark = pytest.mark.slow

SECONDS: Final = 60
CALLS: Final = {"scan": "objects", "lint": "policies", "why": "object", "migrate": "policies"}


def test_every_input_is_answered() -> None:
    """Each input is given to one tool, and the tools take turns; CHARTKIT_EVERY=1 gives each to
    all."""
    folder = shared("faults")
    inputs = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    tools = list(CALLS)
    calls = [(tools[number % len(tools)], each) for number, each in enumerate(inputs)]
    if os.environ.get("CHARTKIT_EVERY"):
        calls = [(name, each) for each in inputs for name in tools]

    async def work(client: Client) -> dict[tuple[str, str], tuple[Reply, float]]:
        found = {}
        for name, each in calls:
            begin = time.monotonic()
            value = each if name == "why" else [each]
            given: dict[str, Any] = {CALLS[name]: value}
            if name == "migrate":
                given["prove"] = not Path(folder, each).is_dir()
            found[name, each] = await ask(client, name, given), time.monotonic() - begin
        return found

    found = talk(work, folder, "--seconds", str(SECONDS), log=Path("/dev/null"))
    for (name, each), (reply, seconds) in found.items():
        assert reply.document is not None or reply.is_error, each
        check(name, reply)
        assert reply.text.strip(), each
        assert "Traceback" not in reply.text, each
        assert "a bug, not your mistake" not in reply.text, each
        assert "the process of the call was ended" not in reply.text, each
        assert len(reply.text) < 40_000, each
        assert seconds < 2 * SECONDS, each
    assert sum(reply.document is not None for reply, _ in found.values()) > len(found) / 3
