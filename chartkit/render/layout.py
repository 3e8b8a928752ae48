"""Charts laid out for Helm: without the files of environments that no template reads, so that a
change of one environment is none of the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from chartkit.helm.kept import templates_of
from chartkit.output import write
from chartkit.output.write import RECORD, Tree
from chartkit.project.environment import Environment
from chartkit.render.chart import ChartFiles

_PARTS: Final = ("templates", "charts")
_INCLUDED: Final = re.compile(r'include\s+"[^"]*"\s+[.$](?![\w.])')
"""A template that is called with all that there is: those of chartkit are."""
_WHOLE: Final = re.compile(r"(?<![\w.$)}])[.$](?![\w.])|Files")


def lay_out(
    tree: Tree, parent: Path, environments: Iterable[Environment], is_upstream: bool
) -> ChartFiles:
    """Lay out a chart in a folder of its own below another one. The values of environments are
    given to Helm next to it."""
    whole = ChartFiles(tree, tree.folder, is_upstream)
    names = {name for each in environments for name in each.values_files if name in tree.files}
    unread = {*names, *(f"{RECORD}/{name}" for name in names)}
    if is_upstream or _may_read_any_file(whole, names):
        unread.clear()
    files = {name: text for name, text in tree.files.items() if name not in unread}
    folder = write.lay_out(replace(tree, files=files, removed=tree.removed | unread), parent)
    return replace(whole, folder=folder)


def _may_read_any_file(chart: ChartFiles, values: Collection[str]) -> bool:
    """Return whether templates may read files that those of chartkit do not: they are of others, or
    come with values that ask for files or for all that there is."""
    tree = chart.tree
    there = (path for part in _PARTS for path in (tree.folder / part).rglob("*"))
    names = (each.relative_to(tree.folder).as_posix() for each in there if not each.is_dir())
    if any(each not in tree.files and each not in tree.removed for each in names):
        return True
    documents = map(chart.document, ("values.yaml", *values))
    return any(asks_for_all(text) for each in documents for text in templates_of(each.body))


def asks_for_all(text: str) -> bool:
    """Return whether a template may ask for files, or for all that there is."""
    return _WHOLE.search(_INCLUDED.sub("", text)) is not None
