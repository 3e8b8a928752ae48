"""Completions at a position: keys, values, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lsprotocol import types

from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.expressions import functions, language_at, variables
from chartkit.addons.lsp.shapes import Shape, known_types

Root = Callable[[Cursor], Shape | None]
"""Gives the shape of the document that a place is in."""


def completions(cursor: Cursor, root: Root) -> Iterator[types.CompletionItem]:
    """Yield what can be written at a place."""
    language = language_at(cursor)
    if language is not None:
        kind = types.CompletionItemKind.Function
        for name, function in functions(language).items():
            signature, doc = function.signatures[0], _markdown(function.documentation)
            yield types.CompletionItem(name, kind=kind, detail=signature, documentation=doc)
        for name in variables(language):
            yield types.CompletionItem(name, kind=types.CompletionItemKind.Variable)
    elif cursor.in_value and cursor.path in (("apiVersion",), ("kind",)):
        yield from _types(cursor)
    elif (shape := root(cursor)) is not None:
        inner = shape.at(cursor.path if cursor.in_value else cursor.above)
        if inner is not None:
            yield from _keys(inner, cursor) if not cursor.in_value else ()
            yield from _values(inner)


def _keys(shape: Shape, cursor: Cursor) -> Iterator[types.CompletionItem]:
    kind = types.CompletionItemKind.Field
    for name, field in shape.fields().items():
        if name not in cursor.siblings:
            text, doc = f"{name}:" if field.holds_more else f"{name}: ", _markdown(field.doc)
            yield types.CompletionItem(
                name, kind=kind, detail=field.name, documentation=doc, insert_text=text
            )


def _values(shape: Shape) -> Iterator[types.CompletionItem]:
    for text in shape.values():
        yield types.CompletionItem(text, kind=types.CompletionItemKind.EnumMember)


def _types(cursor: Cursor) -> Iterator[types.CompletionItem]:
    """Yield the kinds of a version, or the versions of a kind, as far as the other is written."""
    own, other = (1, 0) if cursor.key == "kind" else (0, 1)
    wanted = cursor.types[other]
    for name in sorted({each[own] for each in known_types() if wanted in ("", each[other])}):
        yield types.CompletionItem(name, kind=types.CompletionItemKind.Class)


def _markdown(text: str) -> types.MarkupContent | None:
    return types.MarkupContent(types.MarkupKind.Markdown, text) if text else None
