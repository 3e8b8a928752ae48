"""jinja2 with delimiters of its own, so that Helm's and Kyverno's `{{ }}` are plain text to it.

`<%= value %>` prints, `<% statement %>` controls, `<%# comment %>` says nothing. Mistakes in what
was rendered are shown at their places in the template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final

from jinja2 import FileSystemLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chartkit import bundled
from chartkit.documents.reader import Document, Source, read_text
from chartkit.errors import InputError, RenderError
from chartkit.library.policies import FolderPolicy, LibraryPolicy
from chartkit.model import (
    Diagnostic,
    Json,
    Location,
    Places,
    Resource,
    Severity,
    list_of,
    pointed_at,
    value_at,
)
from chartkit.schemas.json_schema import require_single_keys
from chartkit.suggestions import suggestion

SUFFIX = ".j2"
_TAG: Final = re.compile(r"<%(=?).*?%>", re.DOTALL)
_EXPRESSION: Final = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, NotImplementedError),
)
"""Errors of a template's expressions, such as `<%= - x %>` of a text."""
_UNDEFINED: Final = re.compile(r"'(\w+)' is undefined")
_COMPILED: Final = "<template>"
_OLDER: Final = "kyverno.io/"
REPEATED: Final = "repeated-key"
"""The rule ID of a key that stands twice: the first one is lost, and kubectl refuses it."""
_SCHEMA: Final = "policy-schema"
_BACKGROUND: Final = (("spec", "background"), ("spec", "evaluation", "background", "enabled"))
"""The fields that the chart writes as true or false, whatever the file has."""
_STATEMENT: Final = re.compile("<%(?![=#])")
_PARAMETER: Final = re.compile("x+")
"""The stand-in of an outline for the value of a parameter."""


@cache
def environment(
    root: Path | None = None, printed: Callable[..., Any] | None = None
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


def source_documents(text: str, file: str) -> list[Document]:
    """Return the documents of a template of YAML without its tags, each field where it is written;
    raise InputError, with the template's own line, for what is not YAML then."""
    return read_text(_TAG.sub(_filled, text), file)


def _filled(tag: re.Match[str]) -> str:
    """Return a filler of the length and lines of a tag: a word for a value, else blanks."""
    first, *more = tag[0].split("\n")
    word = ("x" if tag[1] else " ") * len(first)
    return "\n".join((word, *(" " * len(line) for line in more)))


@lru_cache(maxsize=1024)
def _compiled(text: str, root: Path | None, printed: Callable[..., Any] | None) -> Template:
    """Return a template, compiled once: the environments of a project render the same texts."""
    return environment(root, printed).from_string(text)


def render_text(
    text: str,
    context: Mapping[str, Any],
    file: str = "<text>",
    root: Path | None = None,
    printed: Callable[..., Any] | None = None,
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
            # The place of a word in the line of a place; the place itself where the line lacks the
            # word, or has it twice.
            word = undefined[1]
            line = text.split("\n")[location.line - 1] if location.line else ""
            starts = [match.start() for match in re.finditer(rf"\b{re.escape(word)}\b", line)]
            location = replace(location, column=starts[0] + 1) if len(starts) == 1 else location
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


def render_yaml(path: Path, context: Mapping[str, Any]) -> list[Document]:
    """Return the documents of a template of YAML, whose values are printed as JSON."""
    text = render_text(path.read_text("utf-8"), context, str(path), printed=as_json)
    return read_text(text, str(path))


def as_json(value: Json) -> str:
    """Return a value as JSON, which is YAML, too."""
    return json.dumps(value, ensure_ascii=False, default=dict)


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


@dataclass(frozen=True, slots=True)
class TemplatePlaces(Places):
    """The places in a template of what was rendered from it. template: the text, with tags; body:
    the rendered object; begin: the place of what has none."""

    template: Source
    body: Json
    begin: Location

    def locate(self, *path: str | int) -> Location:
        """Return the location of the key or item at a path, or of its nearest parent in both."""
        outline, steps = outline_of(self.template), self._shared(path)
        return outline.locate(*steps) if outline and steps else replace(self.begin, places=self)

    def character(self, offset: int, *path: str | int) -> Location:
        """Return the location of a character of the text at a path; of its key where the text has
        values of parameters."""
        outline, steps = outline_of(self.template), self._shared(path)
        if outline is None or len(steps) < len(path):
            return self.locate(*path)
        written, rendered = outline.body, self.body
        for step in steps:
            written, rendered = _child(written, step), _child(rendered, step)
        if not isinstance(written, str) or not isinstance(rendered, str):
            return self.locate(*path)
        # In Enforce an expression stands in a longer one.
        begin = rendered.find(written)
        if not 0 <= begin <= offset <= begin + len(written):
            return self.locate(*path)
        return outline.character(offset - begin, *steps)

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines of the template around one, and the number of the first."""
        outline = outline_of(self.template)
        return (0, ()) if outline is None else replace(outline, source=self.template).excerpt(line)

    def _shared(self, path: tuple[str | int, ...]) -> list[str]:
        """Return the steps of a path that both documents have."""
        document = outline_of(self.template)
        outline, body = document.body if document else None, self.body
        steps: list[str] = []
        for step in map(str, path):
            if isinstance(body, list) and len(body) != len(list_of(outline)):
                break
            outline, body = _child(outline, step), _child(body, step)
            if outline is None:
                break
            steps.append(step)
        return steps


def placed(body: Json, template: Source) -> Resource:
    """Return an object that a template renders to, with the places of its fields in that."""
    begin = Location(template.file, 1)
    return Resource(body, replace(begin, places=TemplatePlaces(template, body, begin)))


def source_location(policy: LibraryPolicy, resource: Resource) -> Location:
    """Return the place of a policy's rendered object in the file that its author wrote."""
    if isinstance(policy, FolderPolicy):
        in_cel = None if resource.api_version.startswith(_OLDER) else policy.cel
        return placed(resource.body, in_cel or policy.template).location
    from chartkit.library.upstream import UpstreamPolicy

    if isinstance(policy, UpstreamPolicy) and policy.kind == resource.kind:
        return policy.location
    return resource.location


@lru_cache(maxsize=64)
def outline_of(template: Source) -> Document | None:
    """Return the only document of a template without its tags; None where that is not YAML."""
    try:
        documents = source_documents(template.text, template.file)
    except InputError:
        return None
    return documents[0] if len(documents) == 1 else None


def _child(value: Json, step: str) -> Json:
    return pointed_at(value, (step,))


def source_mistakes(policy: LibraryPolicy) -> Iterator[Diagnostic]:
    """Yield the mistakes in the files of a policy that is not built in."""
    for document in _documents(policy):
        yield from repeated_keys(document)
    yield from covered_values(policy)


def covered_values(policy: LibraryPolicy) -> Iterator[Diagnostic]:
    """Yield an error for each value that Kyverno refuses, and that the chart writes another for."""
    for document in _documents(policy):
        for path in _BACKGROUND:
            value = value_at(document.body, path)
            is_parameter = isinstance(value, str) and _PARAMETER.fullmatch(value)
            if value is None or isinstance(value, bool) or is_parameter:
                continue
            location: Location = document.locate(*path)
            message = f"{'.'.join(path)}: must be true or false, and is {value!r}"
            yield Diagnostic(_SCHEMA, Severity.ERROR, message, location)


def _documents(policy: LibraryPolicy) -> Iterator[Document]:
    from chartkit.library.upstream import UpstreamPolicy

    if isinstance(policy, UpstreamPolicy):
        yield policy.document
    elif isinstance(policy, FolderPolicy) and policy.library != bundled.LIBRARY:
        for source in filter(None, (policy.template, policy.cel)):
            outline = outline_of(source)
            if outline is not None and not _STATEMENT.search(source.text):
                yield outline


def repeated_keys(document: Document) -> tuple[Diagnostic, ...]:
    """Return a warning for a key that stands twice in a mapping."""
    return _repeated_in(replace(document, body=None))


@lru_cache(maxsize=2048)
def _repeated_in(text: Document) -> tuple[Diagnostic, ...]:
    """Return the warning for a document's text, which several environments ask for."""
    try:
        require_single_keys(text)
    except InputError as error:
        warning = Diagnostic(REPEATED, Severity.WARNING, error.message, error.location, error.hint)
        return (warning,)
    return ()
