"""The tables of docs/reference/migrate.md are those of the package."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.addons.migrate.values.report import braced
from chartkit.values.moved import CHARTS, ENGINE, Argument, Row, arguments, rows

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "migrate.md"
MARK = "<!-- Written from chartkit/values/moved/data: pytest --update-golden. Not by hand. -->\n"


def test_migrate_page_is_true(request: pytest.FixtureRequest) -> None:
    written, mark, listed = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    tables = "\n".join(page()) + "\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{written}{MARK}\n{tables}", "utf-8")
        return
    assert listed == f"\n{tables}"


def page() -> Iterator[str]:
    for chart in CHARTS:
        if chart != ENGINE:
            yield from ("", f"### {chart}", "")
        yield from ("| chart | old | new | why |", "|---|---|---|---|")
        yield from (row_line(row) for row in rows(chart).values())
    yield from ("", "### Arguments of Kyverno 1.4 to 1.9", "")
    yield from ("| old | new | why |", "|---|---|---|")
    for flag, argument in arguments().items():
        yield argument_line(flag, argument)


def row_line(row: Row) -> str:
    span = str(row.span).replace(" to ", "–")
    return f"| {span} | `{row.name}` | {targets(row)} | {words(row)} |"


def argument_line(flag: str, argument: Argument) -> str:
    return f"| `--{flag}` | {targets(argument)} | {words(argument)} |"


def targets(row: Row | Argument) -> str:
    places = tuple(".".join(each) for each in row.targets)
    return ", ".join(f"`{each}`" for each in braced(places)) or "–"


def words(row: Row | Argument) -> str:
    return f"{row.why} {row.do}".strip().replace("|", "\\|")
