"""Kyverno's releases: one file names them, and no constant elsewhere does."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import chartkit
from chartkit.kyverno.known_faults import changes
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import current
from chartkit.kyverno.versions import parse_release
from tests.data import from_table

_PACKAGE = Path(chartkit.__file__).parent
_HISTORY = frozenset({"policy_fields.py"})
"""Modules that say which version brought which field: these versions stay when others come."""


def _docstrings(tree: ast.AST) -> set[ast.expr]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _named_versions(source: str, history: bool = False) -> Iterator[str]:
    """The constants of a module that name the current Kyverno or its chart. A sentence on what
    changed `since Kyverno 1.x` is history too."""
    release = current()
    kyverno, chart = re.escape(str(release.version)), re.escape(release.chart_version)
    name = re.compile(rf"(?<![\d.])(?<!since Kyverno )v?{kyverno}(?!\d)|(?<![\d.]){chart}(?![\d.])")
    tree = ast.parse(source)
    docstrings = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in docstrings and name.search(node.value):
                yield f"line {node.lineno}: {node.value!r}"
        elif isinstance(node, ast.Call) and not history:
            call = ast.unparse(node)
            if re.fullmatch(rf"(\w+\.)*Version\({kyverno.replace(re.escape('.'), ', ')}\)", call):
                yield f"line {node.lineno}: {call}"


@pytest.mark.slow
def test_no_other_constant_names_the_current_version() -> None:
    found = {
        str(path.relative_to(_PACKAGE)): list(
            _named_versions(path.read_text("utf-8"), path.name in _HISTORY)
        )
        for path in _PACKAGE.rglob("*.py")
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


@from_table("constant", "count")
def test_the_search_finds_versions(constant: str, count: int) -> None:
    version = current().version
    source = constant.format(
        kyverno=version, chart=current().chart_version, major=version.major, minor=version.minor
    )
    assert len(list(_named_versions(source))) == count


def test_the_current_release_is_known() -> None:
    assert parse_release(current().app_version) is not None
    assert current().version in matrix()
    assert current().version in changes()
