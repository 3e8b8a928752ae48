"""The files of a new policy of one's own: an example that works, to be made into what is meant."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from chartkit.catalog.libraries import own_libraries
from chartkit.catalog.model import Kind
from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.output import atomic_folder

_TEMPLATES: Final = Path(__file__).parent / "templates"
_PLACEHOLDER: Final = "NAME"
_DEFAULT_LIBRARY: Final = "policies"
_PART: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DEEPEST: Final = 3


def write_policy(reference: str, kind: Kind, project: Path, library: Path | None = None) -> Path:
    """Writes a policy's folder and gives it; raises InputError, and then nothing was written.

    reference: its name, folders before it or not (`ours/require-team`); library: the folder it
    goes to; None: the first that chartkit.yaml names, or `policies` where it names none.
    """
    parts = reference.split("/")
    if len(parts) > _DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        hint = "write name or folder/name: lower-case letters, digits and '-'"
        raise InputError(f"'{reference}' cannot be the name of a policy", hint=hint)
    own = own_libraries(project, library)
    if library is None:
        library = next(iter(own), project / _DEFAULT_LIBRARY)
    folder = library.joinpath(*parts)
    if folder.exists() or folder.is_symlink():
        raise InputError("is there already", Location(str(folder)), "choose another name")
    with atomic_folder.replaced(folder, project) as new:
        for template in sorted((_TEMPLATES / kind).iterdir()):
            text = template.read_text("utf-8").replace(_PLACEHOLDER, parts[-1])
            (new / template.name).write_text(text, "utf-8", newline="\n")
    return folder


def is_in_project(library: Path, project: Path) -> bool:
    """Return whether chartkit.yaml names the library that a policy's folder is in."""
    return any(library.resolve().is_relative_to(own.resolve()) for own in own_libraries(project))
