"""Files of a chart that templates render as templates: `tpl (.Files.Get "policies/a.yaml") .`"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from chartkit.go.regexp import Regex, RegexError, compile_regex, quote_meta
from chartkit.helm.chart_folder import entries
from chartkit.helm.model import ChartError

_GET: Final = re.compile(r"\btpl\s+\(\s*\$?\.Files\.Get\s+\"([^\"]+)\"\s*\)\s+[.$](?=[\s|}-])")
_GLOB: Final = re.compile(
    r"\brange\s+(?P<path>\$\w+),\s*(?P<content>\$\w+)\s*:=\s*\$?\.Files\.Glob\s+"
    r"\"(?P<pattern>[^\"]+)\""
)
_CONTENTS: Final = (
    r"\btpl\s+\(\s*\$\.Files\.Get\s+{path}\s*\)\s+\$(?=[\s|}}-])"
    r"|\btpl\s+\(\s*(?:toString\s+{content}|{content}\s*\|\s*toString)\s*\)\s+\$(?=[\s|}}-])"
)
"""The file of a path, or its content, as a loop over files renders it."""
_LOOP: Final = 4096
"""The characters of a loop in which it is looked for."""
_split: Final = re.compile(r"(\*\*|[*?])").split
_TRANSLATED: Final = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


def pulled_files(folder: Path, sources: Mapping[Path, str]) -> dict[Path, Path]:
    """Return the files of a chart that its templates render as templates of its root, each with
    the template; without files that several templates render, and those that are not text."""
    templates: dict[Path, set[Path]] = {}
    patterns = {template: list(_patterns(text)) for template, text in sources.items()}
    for name in _names(folder) if any(patterns.values()) else ():
        rendering = {key for key, names in patterns.items() if any(p.matches(name) for p in names)}
        if rendering:
            templates[folder / name] = rendering
    return {
        file: next(iter(rendering))
        for file, rendering in sorted(templates.items())
        if len(rendering) == 1 and file not in sources and _is_text(file)
    }


def _patterns(text: str) -> Iterator[Regex]:
    """Yield the names of the files that a template renders."""
    patterns = list(map(quote_meta, _GET.findall(text)))
    for loop in _GLOB.finditer(text):
        names = {key: re.escape(loop[key]) for key in ("path", "content")}
        if re.search(_CONTENTS.format(**names), text[loop.end() : loop.end() + _LOOP]):
            parts = (_TRANSLATED.get(part) or quote_meta(part) for part in _split(loop["pattern"]))
            patterns.append("".join(parts))
    for pattern in patterns:
        with suppress(RegexError):  # too long for the name of a file
            yield compile_regex(f"^{pattern}$")


def _names(folder: Path) -> list[str]:
    """Return the names of a chart's files; none of a chart that Helm does not read, for which it
    says why."""
    try:
        return [entry.name for entry in entries(folder) if not entry.folder]
    except ChartError:
        return []


def _is_text(file: Path) -> bool:
    try:
        file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return not file.is_symlink()
