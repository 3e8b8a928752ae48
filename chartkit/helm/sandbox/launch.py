"""Becomes another program, within limits."""

from __future__ import annotations

import json
import os
import sys

from chartkit.helm.sandbox.confine import confine, die_with_parent
from chartkit.helm.sandbox.exits import Exit


def main(settings: str, program: str, arguments: list[str]) -> None:
    """Executes a program; ends with NOT_STARTED and the system's reason where that fails.

    settings: JSON with what `confine` takes, and the parent's process id.
    """
    given = json.loads(settings)
    die_with_parent(given.pop("parent"))
    confine(**given)
    try:
        os.execv(program, [program, *arguments])
    except OSError as error:
        sys.stderr.write(error.strerror or str(error))
        sys.stderr.flush()
        os._exit(Exit.NOT_STARTED)
