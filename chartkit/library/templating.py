"""jinja2 with delimiters of its own, so that Helm's and Kyverno's `{{ }}` are plain text to it.

`<%= value %>` prints, `<% statement %>` controls, `<%# comment %>` says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final

from jinja2 import FileSystemLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chartkit.documents.reader import Document, read_text
from chartkit.errors import InputError, RenderError
from chartkit.model import Location
from chartkit.suggestions import suggestion

SUFFIX = ".j2"


@cache
def environment(
    root: Path | None = None, printed: Callable[[Any], Any] | None = None
) -> ImmutableSandboxedEnvironment:
    """The jinja2 environment; root is where `include` and `import` look; printed: what is printed
    in place of a value."""
    return ImmutableSandboxedEnvironment(
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<%=",
        variable_end_string="%>",
        comment_start_string="<%#",
        comment_end_string="%>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
        finalize=printed,
        loader=FileSystemLoader(root) if root else None,
    )


_TAG: Final = re.compile(r"<%(=?).*?%>", re.DOTALL)


def source_documents(text: str, file: str) -> list[Document]:
    """Return the documents of a template of YAML without its tags, each field where it is written;
    raise InputError, with the template's own line, for what is not YAML then."""
    return read_text(_TAG.sub(_filled, text), file)


def _filled(tag: re.Match[str]) -> str:
    """Return what has the length and lines of a tag: a word for a value, else blanks."""
    first, *more = tag[0].split("\n")
    word = ("x" if tag[1] else " ") * len(first)
    return "\n".join((word, *(" " * len(line) for line in more)))


_EXPRESSION: Final = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, NotImplementedError),
)
"""Errors of a template's expressions, such as `<%= - x %>` of a text."""
_UNDEFINED: Final = re.compile(r"'(\w+)' is undefined")
_COMPILED: Final = "<template>"


@lru_cache(maxsize=256)
def _compiled(text: str, root: Path | None, printed: Callable[[Any], Any] | None) -> Template:
    """Return a template, compiled once: the environments of a project render the same texts."""
    return environment(root, printed).from_string(text)


def render_text(
    text: str,
    context: Mapping[str, Any],
    file: str = "<text>",
    root: Path | None = None,
    printed: Callable[[Any], Any] | None = None,
) -> str:
    """Render one template, whose values `printed` turns into what is printed; raises RenderError
    with the template's own line."""
    try:
        return _compiled(text, root, printed).render(context)
    except TemplateError as error:
        location = Location(file, getattr(error, "lineno", None) or _line_of(error))
        undefined = _UNDEFINED.fullmatch(error.message or "")
        hint = None
        if undefined:
            location = _at_word(location, text, undefined[1])
            hint = suggestion(undefined[1], context)
        raise RenderError(f"template: {error.message}", location, hint) from error
    except InputError as error:
        # A function of the context refused its arguments.
        if error.location is None or error.location.line:
            raise
        location = replace(error.location, line=_line_of(error))
        raise InputError(error.message, location, error.hint) from error
    except _EXPRESSION as error:
        text = f"template: {type(error).__name__}: {error}"
        raise RenderError(text, Location(file, _line_of(error))) from error


def _at_word(location: Location, text: str, word: str) -> Location:
    """Return the place of a word in the line of a place; that itself where the line has it not at
    all, or twice."""
    line = text.split("\n")[location.line - 1] if location.line else ""
    found = [match.start() for match in re.finditer(rf"\b{re.escape(word)}\b", line)]
    return replace(location, column=found[0] + 1) if len(found) == 1 else location


def _line_of(error: Exception) -> int:
    """The line of a template at which an error was raised; 0 where it is not known."""
    frames = extract_tb(error.__traceback__)
    return next((at.lineno or 0 for at in reversed(frames) if at.filename == _COMPILED), 0)


def render_tree(root: Path, context: Mapping[str, Any]) -> dict[str, str]:
    """Every file below root by its path there: `*.j2` rendered and renamed, `_*.j2` left out."""
    files: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(root).as_posix()
        text = path.read_text("utf-8")
        if path.suffix != SUFFIX:
            files[name] = text
        elif not path.name.startswith("_"):
            files[name.removesuffix(SUFFIX)] = render_text(text, context, str(path), root)
    return files
