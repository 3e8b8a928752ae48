"""One call of Helm's library in a process of its own: JSON on standard input, text out."""

from __future__ import annotations

import json
import sys
from typing import Any

from helm_python import HelmError, RegistryClient


def _answer(call: dict[str, Any]) -> str:
    with RegistryClient(plain_http=call["plain"]) as client:
        if call["verb"] == "pull":
            folder, version = call["folder"], call["version"]
            found = client.pull(
                call["reference"], destination=folder, version=version, plain_http=call["plain"]
            )
            return str(found.get("output", ""))
        client.push(call["file"], call["remote"], plain_http=call["plain"])
        return str(client.resolve(call["reference"])["digest"])


if __name__ == "__main__":
    try:
        sys.stdout.write(_answer(json.load(sys.stdin)))
    except HelmError as error:
        sys.exit(f"Error: {error}")
