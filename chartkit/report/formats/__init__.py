"""The formats of reports by name: chartkit's own, and those that other packages add.

A module of this folder is a format and gives it its name; `writer` makes its writers. Another
package adds a format by an entry point of the group `chartkit.reports`, which names a callable:
`ReportOptions` in, `Writer` out. Modules of formats are imported when their format is asked for,
entry points are read when a format is not built in or help lists all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from chartkit.errors import InputError
from chartkit.report.model import ReportOptions, Writer
from chartkit.suggestions import suggestion

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MakeWriter: TypeAlias = Callable[[ReportOptions], Writer]
GROUP: Final = "chartkit.reports"

BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "text": "chartkit.report.text:TextWriter",
        "json": "chartkit.report.json_report:JsonWriter",
        "yaml": "chartkit.report.json_report:YamlWriter",
        "ndjson": "chartkit.report.json_report:NdjsonWriter",
        "github": "chartkit.report.annotations:GithubWriter",
        "azure": "chartkit.report.annotations:AzureWriter",
        "junit": "chartkit.report.junit:JUnitWriter",
        "markdown": "chartkit.report.command_report:MarkdownWriter",
        "html": "chartkit.report.html:HtmlWriter",
        "policyreport": "chartkit.report.policyreport:policy_report_writer",
        "openreports": "chartkit.report.policyreport:open_report_writer",
    }
)
"""The writers (`module:attribute`) of formats that share modules or are used elsewhere."""

_MODULES: Final = sorted({file.stem for file in Path(__file__).parent.glob("*.py")} - {"__init__"})
"""The modules of this folder, each a format of its name."""

QUERIED: Final = ("json", "yaml", "ndjson")
"""The formats that `--query` chooses a part of."""


def _built_in(writer_path: str) -> MakeWriter:
    module, _, attribute = writer_path.partition(":")

    def make(options: ReportOptions) -> Writer:
        writer: Writer = getattr(import_module(module), attribute)(options)
        return writer

    return make


FORMATS: Final[Mapping[str, MakeWriter]] = MappingProxyType(
    {name: _built_in(place) for name, place in BUILT_IN.items()}
    | {name: _built_in(f"{__name__}.{name}:writer") for name in _MODULES}
)
"""The writers of the formats that are built in."""


def writer_of(name: str) -> MakeWriter:
    """Return the function that makes a format's writers; raise InputError for an unknown format,
    and for one whose package cannot be imported."""
    if name in FORMATS:
        return FORMATS[name]
    added = _added()
    if name not in added:
        listed = [*FORMATS, *added]
        hint = suggestion(name, listed) or f"one of {', '.join(listed)}"
        raise InputError(f"unknown report format '{name}'", hint=hint)
    entry = added[name]
    package = entry.dist.name if entry.dist else entry.value
    try:
        make: MakeWriter = entry.load()
    except Exception as error:  # noqa: BLE001 - a package of someone else may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        message = f"the report format '{entry.name}' of {package} cannot be loaded: {reason}"
        raise InputError(message, hint=f"update or remove {package}") from None
    if not callable(make):
        message = f"the report format '{entry.name}' of {package} is not a writer: {entry.value}"
        raise InputError(message, hint=f"update or remove {package}")
    return make


def names() -> tuple[str, ...]:
    """Return the names of all formats; formats of other packages come last."""
    return (*FORMATS, *_added())


@cache
def _added() -> Mapping[str, EntryPoint]:
    """Return the formats of other packages, which cannot replace those that are built in."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in FORMATS}
