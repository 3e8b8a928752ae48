from __future__ import annotations

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


@pytest.mark.parametrize("name", CALLS)
def test_every_input_is_answered(name: str) -> None:
    folder = shared("faults")
    inputs = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    async def work(client: Client) -> dict[str, tuple[Reply, float]]:
        found = {}
        for each in inputs:
            begin = time.monotonic()
            value = each if name == "why" else [each]
            given: dict[str, Any] = {CALLS[name]: value}
            if name == "migrate":
                given["prove"] = not Path(folder, each).is_dir()
            found[each] = await ask(client, name, given), time.monotonic() - begin
        return found

    found = talk(work, folder, "--seconds", str(SECONDS), log=Path("/dev/null"))
    for each, (reply, seconds) in found.items():
        assert reply.document is not None or reply.is_error, each
        check(name, reply)
        assert reply.text.strip(), each
        assert "Traceback" not in reply.text, each
        assert "a bug, not your mistake" not in reply.text, each
        assert "the process of the call was ended" not in reply.text, each
        assert len(reply.text) < 40_000, each
        assert seconds < 2 * SECONDS, each
    assert sum(reply.document is not None for reply, _ in found.values()) > len(found) / 3
