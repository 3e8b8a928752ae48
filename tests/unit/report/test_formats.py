"""Report formats: each writer is registered, and help and documentation name each format."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from chartkit import report
from chartkit.cli.scan import scan
from chartkit.report import FORMATS, ReportOptions, ReportPer, Writer
from chartkit.suggestions import alternatives

DOCS = Path(__file__).parents[3] / "docs"


def writers() -> Iterator[type]:
    """Yield the classes of the package that write results."""
    for each in pkgutil.walk_packages(report.__path__, "chartkit.report."):
        module = import_module(each.name)
        declared = (one for one in vars(module).values() if isinstance(one, type))
        for one in declared:
            if one.__module__ == each.name and one.__name__.endswith("Writer"):
                yield from {one} - {Writer}


def test_each_writer_is_a_format() -> None:
    registered = {
        type(make(ReportOptions({}, per=per))) for make in FORMATS.values() for per in ReportPer
    }
    assert set(writers()) == registered
    assert len(registered) > 4


def test_help_names_each_format() -> None:
    (option,) = (each for each in scan.params if each.name == "outputs")
    assert alternatives(FORMATS) in str(getattr(option, "help", ""))


def test_documentation_names_each_format() -> None:
    listed = alternatives(f"`{name}`" for name in FORMATS)
    assert (
        f"| `-o`, `--output FORMAT[=FILE]` | {listed};" in (DOCS / "reference/scan.md").read_text()
    )
