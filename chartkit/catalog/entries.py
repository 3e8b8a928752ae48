"""From a folder of a library to entries: policies as Kyverno reads them, and chartkit's own format.

A policy as Kyverno reads it says in annotations (`policies.kyverno.io/title` …) what chartkit's
format says in `metadata.yaml`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit import bundled
from chartkit.catalog.index import read_index
from chartkit.catalog.model import FORMS, RULES, Entry, Kind
from chartkit.documents.reader import Document, Source, read_text
from chartkit.errors import InputError
from chartkit.kyverno import policy_fields
from chartkit.kyverno.versions import Version, parse_version
from chartkit.library.policies import CEL_FILE, METADATA_FILE, POLICY_FILE
from chartkit.library.upstream import is_policy, read_policy_text, references
from chartkit.model import Body, Location, list_of, mapping_at, mappings_at
from chartkit.network.downloads.lockfile import LOCK_FILE, VENDOR, read_lock

_ANNOTATION: Final = "policies.kyverno.io/"
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_FORM_LINE: Final = re.compile(r"^kind:\s*[\"']?(\w+)", re.MULTILINE)
_RULE_LINE: Final = re.compile(rf"^\s+(?:-\s+)?({'|'.join(RULES)}):", re.MULTILINE)


def one_line(text: str) -> str:
    """A text in one line that a terminal shows as it is: no control or direction characters."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def read_folder(folder: str, texts: Mapping[str, str], root: Path) -> tuple[list[Entry], list[str]]:
    """The policies of one folder, and why files could not be read.

    folder: its path below the library's, empty for the library itself; texts: its files by name;
    root: the library's folder, for messages. The entries' library is empty and their files are
    relative to root, see `Entry.below`.
    """
    if POLICY_FILE in texts and METADATA_FILE in texts:
        try:
            return [_own(folder, texts, root)], []
        except InputError as error:
            return [], [str(error)]
    found: list[tuple[str, Document]] = []
    problems: list[str] = []
    for name, text in texts.items():
        if "Policy" not in text:
            continue
        try:
            documents = _documents(Source(str(root / folder / name), text))
        except InputError as error:
            problems.append(str(error))
        else:
            found.extend((name, document) for document in documents if is_policy(document.body))
    return list(_named(folder, found)), problems


def _documents(source: Source) -> list[Document]:
    """A file's documents, under what guards of Helm stand around them; of code that a chart would
    refuse nothing is said here."""
    try:
        return read_policy_text(source)[1]
    except InputError as error:
        with contextlib.suppress(InputError):
            return read_text(source.text, source.file)
        raise error from None


def _named(folder: str, found: Sequence[tuple[str, Document]]) -> Iterator[Entry]:
    names = references(folder, [(file, _name(document.body)) for file, document in found])
    for reference, (file, document) in zip(names, found, strict=True):
        yield _plain(one_line(reference), f"{folder}/{file}".lstrip("/"), document)


def _plain(reference: str, file: str, document: Document) -> Entry:
    body = document.body
    annotations = mapping_at(body, "metadata", "annotations")
    name = _name(body)

    def about(key: str) -> str:
        value = annotations.get(_ANNOTATION + key)
        return "" if value is None or isinstance(value, dict | list) else one_line(str(value))

    return Entry(
        library="",
        reference=reference,
        name=name,
        title=about("title") or name,
        description=about("description"),
        category=about("category"),
        severity=about("severity").lower(),
        subjects=_subjects(about("subject")) or tuple(matched(body)),
        kinds=tuple(kinds_of(body)),
        forms=(str(body["kind"]),),
        minimum=_minimum(about("minversion"), [body]),
        file=file,
        line=document.line,
        own=False,
    )


def _own(folder: str, texts: Mapping[str, str], root: Path) -> Entry:
    file = root / folder / METADATA_FILE
    documents = read_text(texts[METADATA_FILE], str(file))
    if len(documents) != 1 or not isinstance(documents[0].body, dict):
        raise InputError("must be a mapping", Location(str(file)))
    metadata = documents[0].body
    policies = [texts[name] for name in (POLICY_FILE, CEL_FILE) if name in texts]
    forms = [form for text in policies for form in _FORM_LINE.findall(text) if form in FORMS]
    kinds = [FORMS[form] for form in forms]
    kinds += [RULES[key] for key in _RULE_LINE.findall(texts[POLICY_FILE])]
    name = folder.rpartition("/")[2] or root.name

    def text(key: str) -> str:
        return one_line(str(metadata.get(key) or ""))

    return Entry(
        library="",
        reference=one_line(folder or name),
        name=one_line(name),
        title=text("title") or name,
        description=text("description"),
        category=text("category"),
        severity=text("severity"),
        subjects=tuple(one_line(str(each)) for each in list_of(metadata.get("subject"))),
        kinds=tuple(_ordered(kind for kind in kinds if kind is not None)),
        forms=tuple(dict.fromkeys(forms)),
        minimum=_minimum(text("minimumKyverno"), []),
        file=f"{folder}/{POLICY_FILE}".lstrip("/"),
        line=1,
        own=True,
    )


def kinds_of(body: Body) -> list[Kind]:
    """Return the effects of a policy."""
    kind = FORMS[body["kind"]]
    if kind is not None:
        return [kind]
    rules = mappings_at(body["spec"], "rules")
    return _ordered(RULES[key] for rule in rules for key in RULES if key in rule)


def _ordered(found: Iterable[Kind]) -> list[Kind]:
    there = set(found)
    return [kind for kind in Kind if kind in there]


def _name(body: Body) -> str:
    return one_line(str(mapping_at(body, "metadata").get("name") or ""))


def _subjects(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def matched(body: Body) -> list[str]:
    """The kinds that a policy matches (in CEL the resources, as they are named there)."""
    spec = body["spec"]
    rules = mappings_at(spec, "matchConstraints", "resourceRules")
    lists = [rule.get("resources") for rule in rules]
    for one in (spec, *mappings_at(spec, "rules")):
        match = mapping_at(one, "match")
        for block in (match, *mappings_at(match, "any"), *mappings_at(match, "all")):
            lists.append(mapping_at(block, "resources").get("kinds"))
    texts = [one_line(str(text)) for each in lists for text in list_of(each)]
    return list(dict.fromkeys(text.rpartition("/")[2] for text in texts))


def _minimum(claimed: str, bodies: Iterable[Body]) -> str:
    """The later one of the version that a policy claims and those that its fields need."""
    versions: list[Version] = []
    if claimed:
        # A claim that is not a version says nothing.
        with contextlib.suppress(InputError):
            versions.append(parse_version(claimed, "Kyverno"))
    for body in bodies:
        if body["kind"] in (*policy_fields.KINDS, "ClusterPolicy", "Policy"):
            versions.append(policy_fields.minimum_version(body)[0])
    return str(max(versions)) if versions else ""


BUILT_IN: Final = bundled.LIBRARY
"""The name of the built-in library."""
_PROJECT: Final = "chartkit.yaml"


@dataclass(frozen=True, slots=True)
class LibraryFolder:
    """A library: its name, where it stands, and whether it was vendored."""

    name: str
    root: Path
    vendored: bool = False


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every policy of every library, in the order of the libraries and of their references.

    problems: files that could not be read or are not what was vendored, each with its place.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def libraries(project: Path) -> list[LibraryFolder]:
    """The libraries that a project has, the built-in one first; raises InputError.

    project: the folder that chartkit.yaml and vendor/ stand in, or would.
    """
    return [
        LibraryFolder(BUILT_IN, bundled.library_dir()),
        *(LibraryFolder(folder.name, folder) for folder in own_libraries(project)),
        *(LibraryFolder(folder.name, folder, True) for folder in vendored(project)),
    ]


def ranks(found: Sequence[LibraryFolder]) -> Callable[[Entry], int]:
    """The policies that go before those of other libraries by the same name: a project's own
    libraries (0), then the built-in ones, then the vendored ones."""
    places = [
        (f"{folder.root}/", 2 if folder.vendored else 1 if folder.name == BUILT_IN else 0)
        for folder in found
    ]

    def rank(entry: Entry) -> int:
        return next((rank for place, rank in places if entry.file.startswith(place)), 0)

    return rank


def own_libraries(project: Path, made: Path | None = None) -> list[Path]:
    """The folders that `library` of chartkit.yaml names; none where there is no such file.

    made: one that need not be there, for it is about to be made. Raises InputError for another
    that is missing.
    """
    file = project / _PROJECT
    if not file.is_file():
        return []
    from chartkit.documents.reader import read_file

    documents = read_file(file)
    body = documents[0].body if documents else None
    found = (body.get("library") if isinstance(body, dict) else None) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InputError("library must be a list of folders", documents[0].locate("library"))
    for index, each in enumerate(found):
        folder = project / each
        if not folder.is_dir() and (made is None or folder.resolve() != made.resolve()):
            location = documents[0].locate("library", index)
            hint = "make the folder, or take it out of the list"
            raise InputError(f"there is no policy library '{each}'", location, hint)
    return [project / each for each in found]


def vendored(project: Path) -> list[Path]:
    """The folders of vendor/ that have a lock file."""
    folder = project / VENDOR
    if not folder.is_dir():
        return []
    paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return sorted(path for path in paths if (path / LOCK_FILE).is_file())


def read_catalogue(found: Sequence[LibraryFolder]) -> Catalogue:
    """Every policy of some libraries; raises InputError."""
    entries: list[Entry] = []
    problems: list[str] = []
    for library in found:
        indexed = read_index(library.name, library.root)
        entries.extend(indexed.entries)
        problems.extend(indexed.problems)
        if library.vendored:
            problems.extend(_changed(library.root, indexed.digests))
    return Catalogue(tuple(entries), tuple(problems))


def _changed(root: Path, digests: Mapping[str, str]) -> Iterator[str]:
    """Files that were looked at and are not as the lock file has them."""
    locked = read_lock(root).files
    for name, found in digests.items():
        if locked.get(name) != found:
            what = "was changed since it was" if name in locked else "was not"
            yield f"{root / name}: {what} vendored"
