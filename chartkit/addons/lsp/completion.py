"""What can be written at a place: keys, values, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lsprotocol import types

from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.expressions import (
    documentation,
    functions,
    language_at,
    variables,
)
from chartkit.addons.lsp.shapes import Shape, known_types

Root = Callable[[Cursor], Shape | None]
"""Gives the shape of the document that a place is in."""


def completions(cursor: Cursor, root: Root) -> list[types.CompletionItem]:
    """Return what can be written at a place."""
    language = language_at(cursor)
    if language is not None:
        return [*_functions(language)]
    if cursor.in_value and cursor.key in ("apiVersion", "kind") and not cursor.above:
        return [*_types(cursor)]
    shape = root(cursor)
    if shape is None:
        return []
    if cursor.in_value:
        return [*_values(shape.at(cursor.path))]
    inner = shape.at(cursor.above)
    return [*_keys(inner, cursor), *_values(inner)] if inner is not None else []


def _keys(shape: Shape, cursor: Cursor) -> Iterator[types.CompletionItem]:
    for name, field in shape.fields().items():
        if name not in cursor.siblings:
            yield types.CompletionItem(
                name,
                kind=types.CompletionItemKind.Field,
                detail=field.name,
                documentation=_markdown(field.doc),
                insert_text=f"{name}:" if field.holds_more else f"{name}: ",
            )


def _values(shape: Shape | None) -> Iterator[types.CompletionItem]:
    for value in shape.values() if shape is not None else ():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield types.CompletionItem(text, kind=types.CompletionItemKind.EnumMember)


def _types(cursor: Cursor) -> Iterator[types.CompletionItem]:
    """Yield the kinds of a version, or the versions of a kind, as far as the other is written."""
    version, kind = cursor.types
    is_kind = cursor.key == "kind"
    found: Iterable[str] = (
        (each[1] for each in known_types() if not version or each[0] == version)
        if is_kind
        else (each[0] for each in known_types() if not kind or each[1] == kind)
    )
    for name in sorted(set(found)):
        yield types.CompletionItem(name, kind=types.CompletionItemKind.Class)


def _functions(language: str) -> Iterator[types.CompletionItem]:
    for name, function in functions(language).items():
        yield types.CompletionItem(
            name,
            kind=types.CompletionItemKind.Function,
            detail=function.signatures[0],
            documentation=_markdown(documentation(function)),
        )
    for name in variables(language):
        yield types.CompletionItem(name, kind=types.CompletionItemKind.Variable)


def _markdown(text: str) -> types.MarkupContent | None:
    return types.MarkupContent(types.MarkupKind.Markdown, text) if text else None
