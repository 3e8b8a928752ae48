"""The folders that tools may read, and texts that take the place of files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from chartkit.addons.mcp.tools import Tool
from chartkit.bundled import profiles_dir
from chartkit.errors import InputError
from chartkit.safe_text import shown
from chartkit.scan.inputs import is_remote
from chartkit.wording import shortened

_LONGEST: Final = 200


def placed(
    tool: Tool, values: Mapping[str, list[str]], roots: Sequence[str], folder: Path
) -> dict[str, list[str]]:
    """Return the values of parameters with paths that may be read, and texts as files of a folder
    (`objects-1.yaml`); raise InputError."""
    found = dict(values)
    for name in filter(tool.holds_paths, values):
        found[name] = []
        for number, value in enumerate(values[name], 1):
            if "\n" not in value and not value.lstrip().startswith("{"):
                found[name].append(_checked(value, roots))
                continue
            file = folder / f"{name}-{number}.yaml"
            file.write_text(value, "utf-8", "surrogatepass", newline="\n")
            found[name].append(str(file))
    return found


def _checked(text: str, roots: Sequence[str]) -> str:
    """Return the path that a text means; raise InputError for one outside of the roots, which have
    no links in their paths. A relative path starts at the first root that has it."""
    name = shown(shortened(text, _LONGEST))
    if is_remote(text) or text == "-":
        hint = "give a path below the roots, or the YAML itself"
        raise InputError(f"{name}: chartkit mcp reads nothing but files", hint=hint)
    if "\0" in text:
        raise InputError(f"{name}: is not a path")
    paths = [os.path.join(root, text) for root in roots]
    path = next(filter(os.path.lexists, paths), None)
    if path is None and text in (profile.stem for profile in profiles_dir().glob("*.yaml")):
        return text
    if not roots:
        hint = "start `chartkit mcp --root FOLDER`, or give the YAML itself"
        raise InputError(f"{name}: there is no root to read it from", hint=hint)
    real = Path(os.path.realpath(path or paths[0]))
    if not any(real.is_relative_to(root) for root in roots):
        hint = f"the roots are {', '.join(map(shown, roots))}"
        raise InputError(f"{name}: is outside of the roots", hint=hint)
    return text if path in (None, paths[0]) else path
