"""Search for policies by words and traits, or by a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.catalog.model import FORMS, SEVERITIES, Entry, Kind
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body
from chartkit.report.command_report import Block, CommandReport, Table
from chartkit.suggestions import did_you_mean, nearest
from chartkit.wording import abridged, counted

KINDS: Final = (*map(str, Kind), *FORMS)
"""The values of `--kind`: effects of policies, and their forms."""
_NEAR: Final = 3
_HEAD: Final = ("POLICY", "LIBRARY", "SEVERITY", "KYVERNO", "KIND", "FORMS", "TITLE")
_NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Query:
    """A search; empty fields and None match everything. Case does not count.

    words: all must stand somewhere in what an entry says; category: a part of the category;
    severity, subject: as a whole; kind: what it does, or a form; kyverno: a version that is to run
    the policy; library: the library's name.
    """

    words: tuple[str, ...] = ()
    category: str = ""
    severity: str = ""
    subject: str = ""
    kind: str = ""
    kyverno: Version | None = None
    library: str = ""


def checked(query: Query, entries: Sequence[Entry], libraries: Iterable[str]) -> Query:
    """The query, if its names are ones that something can have; raises InputError with near ones.
    libraries: the names of all that there are."""
    _require("severity", query.severity, SEVERITIES)
    _require("kind", query.kind, KINDS)
    _require("library", query.library, sorted(libraries))
    subjects = sorted({subject for entry in entries for subject in entry.subjects})
    _require("subject", query.subject, subjects, listed=False)
    categories = sorted({entry.category for entry in entries})
    wanted = query.category.lower()
    if not any(wanted in category.lower() for category in categories):
        raise _unknown("category", query.category, categories)
    return query


def search(entries: Iterable[Entry], query: Query) -> list[Entry]:
    """The entries that fit; a word in the name or title counts most."""
    words = [word.lower() for word in query.words]
    scored = [(_score(entry, words), entry) for entry in entries if _fits(entry, query)]
    matches = [(score, entry) for score, entry in scored if score]
    return [entry for _, entry in sorted(matches, key=lambda pair: -pair[0])]


def find(entries: Sequence[Entry], name: str, rank: Callable[[Entry], int] = lambda _: 0) -> Entry:
    """The policy that a name means; raises InputError for none, and for several. A name is what
    follows from the end of `library/folder/name`, or what the policy calls itself. rank: a lower
    one goes before the others, see `chartkit.catalog.entries.ranks`."""
    by_rank: dict[int, list[Entry]] = {}
    for entry in entries:
        by_rank.setdefault(rank(entry), []).append(entry)
    wanted = name.strip("/")
    ordered = [by_rank[at] for at in sorted(by_rank)]
    readings = [[entry for entry in group if entry.qualified == wanted] for group in ordered]
    readings += [_meant(group, wanted) for group in ordered]
    matches = next(filter(None, readings), [])
    if len(matches) == 1:
        return matches[0]
    if matches:
        hint = f"say which: {abridged([entry.qualified for entry in matches], _NEAR)}"
        raise InputError(f"there are {len(matches)} policies '{name}'", hint=hint)
    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        for text in (entry.qualified, entry.reference, entry.short, entry.name):
            by_name.setdefault(text, []).append(entry)
    near = [entry.reference for text in nearest(wanted, by_name) for entry in by_name[text]]
    advice = did_you_mean(list(dict.fromkeys(near))[:_NEAR])
    raise InputError(
        f"there is no policy '{wanted}'",
        hint=advice or "`chartkit policies search WORD…` finds some",
    )


def others(
    entries: Sequence[Entry], name: str, chosen: Entry, rank: Callable[[Entry], int]
) -> list[Entry]:
    """Return the policies of other libraries that a name means as well. Libraries of one name are
    different ones where their ranks differ."""
    wanted = name.strip("/")
    by_library: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        by_library.setdefault((entry.library, rank(entry)), []).append(entry)
    by_library.pop((chosen.library, rank(chosen)), None)
    if wanted == chosen.qualified:
        return [
            entry
            for library in by_library.values()
            for entry in library
            if is_hidden(entry, chosen)
        ]
    return [entry for library in by_library.values() for entry in _meant(library, wanted)]


def is_hidden(entry: Entry, chosen: Entry) -> bool:
    """Report whether no name means a policy, as another one has the same, library and all."""
    return entry.qualified == chosen.qualified


def passed_over(chosen: Entry, other: Entry) -> str:
    """Return a line that says which policy a name does not mean, and how to have that one."""
    if is_hidden(other, chosen):
        return (
            f"{chosen.qualified} goes before the policy of the same name in {other.file}: give one "
            "of the two libraries another name"
        )
    return f"{chosen.qualified} goes before {other.qualified}: name that as a whole"


def _meant(entries: Sequence[Entry], wanted: str) -> list[Entry]:
    """The policies of one rank that a name means."""
    readings = (
        [entry for entry in entries if entry.reference == wanted],
        [entry for entry in entries if entry.qualified.endswith(f"/{wanted}")],
        [entry for entry in entries if entry.name == wanted],
    )
    return next((reading for reading in readings if reading), [])


def _fits(entry: Entry, query: Query) -> bool:
    return (
        query.category.lower() in entry.category.lower()
        and (not query.severity or query.severity.lower() == entry.severity.lower())
        and (not query.subject or query.subject.lower() in map(str.lower, entry.subjects))
        and (not query.kind or query.kind.lower() in map(str.lower, (*entry.kinds, *entry.forms)))
        and (not query.library or query.library == entry.library)
        and (
            query.kyverno is None
            or not entry.minimum
            or parse_version(entry.minimum, "Kyverno") <= query.kyverno
        )
    )


def _score(entry: Entry, words: Sequence[str]) -> int:
    """Return the rank of an entry; 0 where it lacks a word."""
    named = f"{entry.qualified} {entry.name}".lower()
    title = entry.title.lower()
    about = " ".join((entry.category, *entry.subjects, *entry.kinds, *entry.forms)).lower()
    description = entry.description.lower()
    total = 1
    for word in words:
        score = 8 * (word in named) + 4 * (word in title) + 2 * (word in about)
        score += word in description
        if not score:
            return 0
        total += score
    return total


def _require(what: str, given: str, names: Sequence[str], listed: bool = True) -> None:
    if given and given.lower() not in map(str.lower, names):
        raise _unknown(what, given, names, listed)


def _unknown(what: str, given: str, names: Sequence[str], listed: bool = True) -> InputError:
    near = nearest(given, names)
    hint = did_you_mean(near) or (f"known are {', '.join(names)}" if listed and names else None)
    return InputError(f"no policy has the {what} '{given}'", hint=hint)


def _blocks(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield a row for each policy, and their number."""
    if entries:
        yield Table(_HEAD, list(map(_row, entries)))
    yield counted(len(entries), "policy", "policies")


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        entry.reference,
        entry.library,
        entry.severity or _NOTHING,
        entry.minimum or _NOTHING,
        ",".join(entry.kinds) or _NOTHING,
        ",".join(entry.forms),
        entry.title,
    )


def entry_body(entry: Entry) -> Body:
    """Return an entry as a JSON object."""
    return {
        "library": entry.library,
        "reference": entry.reference,
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "category": entry.category,
        "severity": entry.severity,
        "subjects": list(entry.subjects),
        "kinds": list(entry.kinds),
        "forms": list(entry.forms),
        "minimumKyverno": entry.minimum,
        "file": entry.file,
        "line": entry.line,
    }


def report(entries: Sequence[Entry]) -> CommandReport:
    """Return policies for every format."""
    return CommandReport(
        text=lambda _width: _blocks(entries),
        value=lambda: {"policies": [entry_body(entry) for entry in entries]},
        rows="policies",
        markdown=lambda: [Table(_HEAD, list(map(_row, entries)))],
    )
