"""`engineValues` of chartkit.yaml: values files of the project's own for the engine's chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.helm.chart_values import Values, read_values
from chartkit.model import Diagnostic, Location, pointed_at, pointer_steps
from chartkit.project.environment import Environment
from chartkit.schemas.json_schema import require_no_object


def own_values(environment: Environment) -> Values:
    """Return the values files of an environment, merged; raise InputError for a missing one."""
    for each in environment.engine_values:
        if not each.path.is_file():
            hint = "paths start at the folder of chartkit.yaml"
            raise InputError(f"there is no values file '{each.path}'", each.location, hint)
    found = read_values([each.path for each in environment.engine_values])
    for document in found.documents:
        require_no_object(document)
    return found


def at_sources(
    found: Iterable[Diagnostic], environment: Environment, written: Sequence[Document]
) -> Iterator[Diagnostic]:
    """Yield findings about the engine's values at the places of the project's own files that the
    values come from; written: the values files of the chart."""
    sources = own_values(environment).documents if environment.engine_values else ()
    files = {each.source.file: each for each in written}
    for each in found:
        place = each.location
        source = None
        if place is not None and place.file in files:
            source = _source(place, files[place.file], sources)
        yield each if source is None else replace(each, location=source)


def _source(place: Location, written: Document, sources: Sequence[Document]) -> Location | None:
    """Return the place of the last file that has the same value there; None where an edit of the
    chart's own file decides."""
    steps = pointer_steps(place.path)
    for document in reversed(sources if steps else ()):
        found = document.locate(*steps)
        if found.path == place.path:
            same = pointed_at(document.body, steps) == pointed_at(written.body, steps)
            return found if same or isinstance(pointed_at(written.body, steps), dict) else None
    return None
