"""The values of the engine chart: one catalogue gives values.yaml, its schema and its page.

A catalogue is a mapping of keys to sections (mappings, `$doc` describes them) and values
(`[type, default, description]`, types in the compact notation of `chartkit.schemas`).
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chartkit.chart.engine_source import SOURCE
from chartkit.chart.templating import render_text
from chartkit.documents import read_text
from chartkit.model import Body, Json
from chartkit.yaml_dump import dump_yaml

_WIDTH = 96
_LONG = 60
_PAGE_HEAD = """
# Values of the engine chart

Written by chartkit from the catalogue that values.yaml and values.schema.json come from too. Types
are in the notation of [schemas.md](schemas.md); `?` may be null. Every other key may not: null
deletes a default in Helm, and the schema refuses that.
"""
DOC = "$doc"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its type in compact notation, its default, and what it is for."""

    type: str
    default: Json
    doc: str


Catalogue = Mapping[str, Any]
"""Keys to `Value` or to a catalogue; `$doc` to a description."""


def read_catalogue(context: Body) -> Catalogue:
    """The chart's values, in the order in which values.yaml has them."""
    top = _read("values/chart.yaml.j2", context)
    for controller in context["controllers"]:
        top[controller["key"]] = _read(
            "values/controller.yaml.j2", {**context, "controller": controller}
        )
    return _catalogue(top)


def _read(name: str, context: Body) -> Body:
    path = SOURCE / name
    text = render_text(path.read_text("utf-8"), context, str(path), SOURCE)
    body: Body = read_text(text, str(path))[0].body
    return body


def _catalogue(body: Body) -> Catalogue:
    return {
        key: Value(*entry)
        if isinstance(entry, list)
        else _catalogue(entry)
        if key != DOC
        else entry
        for key, entry in body.items()
    }


def defaults(catalogue: Catalogue) -> Body:
    """The default values as Helm reads them."""
    return {
        key: entry.default if isinstance(entry, Value) else defaults(entry)
        for key, entry in catalogue.items()
        if key != DOC
    }


def values_yaml(catalogue: Catalogue, header: str) -> str:
    """values.yaml: every key with its default under its description; header: lines of comment."""
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    return "\n".join([*lines, "", *_yaml_lines(catalogue, 0)]).rstrip() + "\n"


def _yaml_lines(catalogue: Catalogue, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, entry in catalogue.items():
        if key == DOC:
            continue
        doc = entry.doc if isinstance(entry, Value) else entry.get(DOC, "")
        for line in textwrap.wrap(doc, _WIDTH - len(indent)):
            yield f"{indent}# {line}"
        if isinstance(entry, Value):
            yield from (indent + line for line in dump_yaml({key: entry.default}).splitlines())
        else:
            yield f"{indent}{key}:"
            yield from _yaml_lines(entry, depth + 1)
        if not depth:
            yield ""


def values_page(catalogue: Catalogue) -> str:
    """docs/values.md: every key with its type, its default and what it is for."""
    lines = [_PAGE_HEAD.strip(), ""]
    plain = {key: entry for key, entry in catalogue.items() if isinstance(entry, Value)}
    sections = {key: entry for key, entry in catalogue.items() if key not in plain}
    for title, entries in {"Names and labels": plain, **sections}.items():
        lines += [f"## {title}", ""]
        if DOC in entries:
            lines += [f"{entries[DOC]}.", ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        lines += _page_rows(entries, "" if entries is plain else f"{title}.")
        lines.append("")
    return "\n".join(lines)


def _page_rows(catalogue: Catalogue, path: str) -> Iterator[str]:
    for key, entry in catalogue.items():
        if isinstance(entry, Value):
            cells = (f"`{path}{key}`", f"`{entry.type}`", _page_default(entry.default), entry.doc)
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        elif key != DOC:
            if DOC in entry:
                yield f"| **`{path}{key}`** | | | {entry[DOC]} |"
            yield from _page_rows(entry, f"{path}{key}.")


def _page_default(default: Json) -> str:
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if len(text) <= _LONG else "see values.yaml"
