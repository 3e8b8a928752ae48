"""`docs/reference/cel.md`: what is written by hand, and the reference of functions below it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.explain import Entry, Example, Section, sections

PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "cel.md"
MARK: Final = "<!-- Written from the declarations: pytest --update-golden. Not by hand. -->\n"

_BLOCK: Final = re.compile(r"^```cel\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CLUSTER_WIDE: Final = tuple(name for name in ENVIRONMENTS if not name.startswith("n"))


def written_examples() -> Iterator[tuple[str, str]]:
    """The lines `expression  // what it comes to` of the part that is written by hand."""
    for block in _BLOCK.findall(PAGE.read_text("utf-8").partition(MARK)[0]):
        for line in block.splitlines():
            expression, _, wanted = line.rpartition("  // ")
            yield expression, wanted


def libraries() -> Mapping[str, tuple[Library, list[str]]]:
    """Every library by what it is for, with the environments that have it."""
    found: dict[str, tuple[Library, list[str]]] = {}
    for name, environment in ENVIRONMENTS.items():
        for each in environment.libraries:
            found.setdefault(each.documented or each.name, (each, []))[1].append(name)
    return found


def reference() -> str:
    """The reference of every function and macro."""
    parts = ["## Functions and macros\n"]
    for library, names in libraries().values():
        for section in sections([library]):
            parts.append(_section(section, names))
    return "\n".join(parts)


def _section(section: Section, names: list[str]) -> str:
    lines = [f"### {section.name}", "", f"{section.doc} In {_environments(names)}.", ""]
    lines += ["| function | meaning | examples |", "|---|---|---|"]
    lines += [_row(entry) for entry in section.entries]
    return "\n".join(lines) + "\n"


def _environments(names: list[str]) -> str:
    if len(names) == len(ENVIRONMENTS):
        return "every environment"
    # A namespaced kind has what its cluster-wide one has; it is named where it alone has it.
    shown = [name for name in names if name in _CLUSTER_WIDE] or names
    return ", ".join(f"`{name}`" for name in shown)


def _row(entry: Entry) -> str:
    signatures = "<br>".join(_code(text) for text in entry.signatures)
    examples = "<br>".join(_example(each) for each in entry.examples)
    return f"| {signatures} | {_text(entry.doc)} | {examples} |"


def _example(example: Example) -> str:
    arrow = "error: " if example.error else ""
    return f"{_code(example.expression)} → {arrow}{_code(example.expected)}"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{_text(text)}{fence}"


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
