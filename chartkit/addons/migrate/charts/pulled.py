"""Files of a chart that templates render as templates: `tpl (.Files.Get "policies/a.yaml") .`"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_GET: Final = re.compile(r"\btpl\s+\(\s*\$?\.Files\.Get\s+\"([^\"]+)\"\s*\)\s+[.$](?=[\s|}-])")
_GLOB: Final = re.compile(
    r"\brange\s+(?P<path>\$\w+),\s*(?P<content>\$\w+)\s*:=\s*\$?\.Files\.Glob\s+"
    r"\"(?P<pattern>[^\"]+)\""
)
_CONTENTS: Final = (
    r"\btpl\s+\(\s*\$\.Files\.Get\s+{path}\s*\)\s+\$(?=[\s|}}-])"
    r"|\btpl\s+\(\s*(?:toString\s+{content}|{content}\s*\|\s*toString)\s*\)\s+\$(?=[\s|}}-])"
)
"""What a loop over files renders: the file of a path, or its content."""


def pulled_files(folder: Path, sources: Mapping[Path, str]) -> dict[Path, Path]:
    """Return the files of a chart that its templates render as templates of its root, each with
    the template; without files that several templates render, and those that are not text."""
    templates: dict[Path, set[Path]] = {}
    for template, text in sources.items():
        for pattern in _patterns(text):
            for file in _files(folder, pattern):
                templates.setdefault(file, set()).add(template)
    return {
        file: next(iter(rendering))
        for file, rendering in sorted(templates.items())
        if len(rendering) == 1 and file not in sources and _is_text(file)
    }


def _patterns(text: str) -> Iterator[str]:
    """Yield the files that a template renders, as patterns."""
    yield from _GET.findall(text)
    for loop in _GLOB.finditer(text):
        names = {key: re.escape(loop[key]) for key in ("path", "content")}
        if re.search(_CONTENTS.format(**names), text[loop.end() :]):
            yield loop["pattern"]


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files of a chart that a pattern names."""
    try:
        files = sorted(folder.glob(pattern))
    except (ValueError, NotImplementedError, OSError):
        return  # Helm renders none
    for file in files:
        is_inside = file.resolve().is_relative_to(folder.resolve())
        if is_inside and file.is_file() and not file.is_symlink():
            yield file


def _is_text(file: Path) -> bool:
    try:
        file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return True
