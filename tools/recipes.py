"""Gives every recipe that installs chartkit the version of this checkout, and links to its schemas
the address of the site.

python -m tools.recipes: after a change of `__version__` or `SITE` in chartkit/__init__.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from chartkit import SITE, __version__

ROOT = Path(__file__).parents[1]
_TAG = re.compile(r"(chartkit@|\brev: )v\d+\.\d+\.\d+\b")
_SCHEMA = re.compile(r"https://[\w./-]+/(?=schemas/[\w-]+\.schema\.json)")


def files() -> Iterator[Path]:
    """Yield the files that show how chartkit is installed."""
    yield from (ROOT / "README.md", ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml")
    for folder in ("docs", "templates"):
        yield from sorted(each for each in (ROOT / folder).rglob("*.*") if each.suffix in _SUFFIXES)


_SUFFIXES = {".md", ".yml", ".yaml"}


def tagged(text: str) -> str:
    """Return a text that names the tag of this version and the address of the site."""
    return _SCHEMA.sub(SITE, _TAG.sub(rf"\g<1>v{__version__}", text))


def main() -> None:
    """Write the recipes."""
    for file in files():
        text = file.read_text("utf-8")
        if tagged(text) != text:
            file.write_text(tagged(text), "utf-8")


if __name__ == "__main__":
    main()
