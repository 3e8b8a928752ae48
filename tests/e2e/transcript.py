"""Transcripts in `docs/`: what a page shows of a terminal is what the commands print.

A block of the language `console` holds lines `$ COMMAND`, each followed by what it prints, standard
error among it, and by `(exit N)` where it does not end with 0. The blocks of a page are run in
their order in one folder, which a test makes.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.e2e.command import PROGRAM
from tests.files import write_files

DOCS: Final = Path(__file__).parents[2] / "docs"

_FILE: Final = re.compile(r"`([\w./-]+\.yaml)`[^`\n]*:\n\n```yaml\n(.*?)```", re.DOTALL)
_BLOCK: Final = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def write_shown(name: str, folder: Path) -> list[str]:
    """Writes the YAML files that a page shows, whose names it returns."""
    files = dict(_FILE.findall((DOCS / name).read_text("utf-8")))
    write_files(folder, files)
    return list(files)


def check_page(
    name: str,
    folder: Path,
    update: bool,
    environment: Mapping[str, str] = MappingProxyType({}),
    scrub: Callable[[str], str] = str,
) -> None:
    """Runs what a page shows, and compares; update: writes the page anew instead. environment:
    variables besides the process's own; scrub: replaces what differs from run to run, as ports and
    times."""
    page = DOCS / name
    text = page.read_text("utf-8")
    assert _BLOCK.search(text), f"{name} shows no transcript"
    shown = _BLOCK.sub(lambda found: _run(found[1], folder, environment, scrub), text)
    if update:
        page.write_text(shown, "utf-8")
        return
    lines = unified_diff(text.splitlines(), shown.splitlines(), name, "what came", lineterm="")
    assert text == shown, "\n".join(lines)


def _run(
    block: str, folder: Path, environment: Mapping[str, str], scrub: Callable[[str], str]
) -> str:
    return "".join(
        f"$ {command}\n{scrub(_output(command, folder, environment))}"
        for command in _commands(block)
    )


def _commands(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield line.removeprefix("$ ")


def _output(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "COLUMNS": "100", **environment, "PATH": path},
    )
    assert "Traceback" not in done.stdout, done.stdout
    text = done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"
    return text if done.returncode == 0 else f"{text}(exit {done.returncode})\n"
