"""Generating policies of the last render that are removed or change their form, which may delete
their objects.

The manifests on disk, `rendered/<env>/`, are the state of the environment until they are replaced.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.documents.reader import read_source, read_text
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.render.chart import CheckTarget
from chartkit.render.compare import policy_risks
from chartkit.render.compare.fields import ObjectChange, compare, identity
from chartkit.render.compare.risk import Level, generators
from chartkit.render.model import Outcome, Row

CHECK: Final = "risk"
_WORD: Final = "generate"
"""A word in the text of every policy that generates, in either form."""
_BORDER: Final = re.compile(r"^---", re.MULTILINE)
_KEEP: Final = (
    "to keep the objects, first install the policy with orphanDownstreamOnPolicyDelete switched on,"
    " and change it only then"
)


def removed_generators(subject: CheckTarget) -> Iterable[Row]:
    """Yield a row for each generating policy of the last render whose objects may be deleted."""
    folder = subject.project.manifests
    if folder is None:
        return
    file = folder / subject.environment.file_name / f"{subject.policies.name}.yaml"
    if not file.is_file():
        return
    try:
        before = list(_generating(read_source(file), str(file)))
    except InputError as error:
        place = error.location or Location(str(file))
        message = f"generating policies were not compared with the last render: {error.message}"
        hint = "`chartkit render` replaces the file"
        yield Row(subject.environment.name, CHECK, Outcome.NOTE, message, place, hint)
        return
    if before:
        yield from _rows(subject, {identity(each): each for each in before}.values())


def _generating(text: str, file: str) -> Iterator[Resource]:
    """Yield the policies of a text that may generate; only their documents are parsed."""
    if _WORD not in text:
        return
    borders = [0, *(found.start() for found in _BORDER.finditer(text)), len(text)]
    for start, end in itertools.pairwise(borders):
        if text.find(_WORD, start, end) < 0:
            continue
        lines_before = "\n" * text.count("\n", 0, start)  # For places to be those of the file.
        for document in read_text(lines_before + text[start:end], file):
            if isinstance(document.body, dict):
                yield Resource(document.body, document.location)


def _rows(subject: CheckTarget, before: Iterable[Resource]) -> Iterator[Row]:
    places = {identity(each): each.location for each in before}
    now = [each for each in subject.policies.rendered().resources if identity(each) in places]
    for change in compare(before, now):
        for risk in generators(change):
            high = risk.level is Level.HIGH
            yield Row(
                subject.environment.name,
                CHECK,
                Outcome.WARNING if high else Outcome.NOTE,
                f"{_which(change)}: {risk.reason}",
                places[change.identity],
                _KEEP if high else None,
            )


def _which(change: ObjectChange) -> str:
    """Return a removed policy or its removed rules, with the kinds of what they generated."""
    rules = policy_risks.going(change.before or {}, change.after)
    named = [name for name in rules if name]
    which = f"{change.identity} goes"
    if change.after is not None and named:
        which = f"{change.identity} loses {', '.join(named)}"
    kinds = policy_risks.kinds(rules.values())
    return f"{which} (generates {', '.join(kinds)})" if kinds else which
