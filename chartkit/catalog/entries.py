"""Every policy of a library, folder by folder, as an entry: policies as Kyverno reads them, and
chartkit's own format. What did not change is not read again.

A policy as Kyverno reads it says in annotations (`policies.kyverno.io/title` …) what chartkit's
format says in `metadata.yaml`. The cache between runs is one value a library in the user's cache
folder, never with the library, which others write. What it says of a folder counts only while every
file there has the size and times that it had: everything else is read anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Final

from chartkit import __version__, bundled
from chartkit.cache_folder import Store, digest_of
from chartkit.catalog.model import FORMS, RULES, Entry, Kind
from chartkit.documents.reader import Document, Source, read_file, read_text
from chartkit.errors import InputError, system_errors
from chartkit.kyverno import policy_fields
from chartkit.kyverno.versions import Version, parse_version
from chartkit.library.policies import CEL_FILE, METADATA_FILE, POLICY_FILE
from chartkit.library.upstream import is_policy, read_policy_text, references
from chartkit.model import Body, Json, Location, list_of, mapping_at, mappings_at
from chartkit.network.downloads.lockfile import LOCK_FILE, VENDOR, read_lock

_ANNOTATION: Final = "policies.kyverno.io/"
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_FORM_LINE: Final = re.compile(r"^kind:\s*[\"']?(\w+)", re.MULTILINE)
_RULE_LINE: Final = re.compile(rf"^\s+(?:-\s+)?({'|'.join(RULES)}):", re.MULTILINE)
BUILT_IN: Final = bundled.LIBRARY
"""The name of the built-in library."""
_PROJECT: Final = "chartkit.yaml"
SUFFIXES: Final = (".yaml", ".yml")
_OWN_FORMAT: Final = {"policy.yaml", "metadata.yaml"}
_CHART: Final = "Chart.yaml"
_LARGEST: Final = 2_000_000
"""Bytes: a larger file is not a policy that Kubernetes would take."""
RECENT: Final = 100_000_000
"""Nanoseconds: a file changed so shortly before it was read may change again unseen."""


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
    policies: list[tuple[str, Document]] = []
    problems: list[str] = []
    for name, text in texts.items():
        if "Policy" not in text:
            continue
        try:
            documents = _documents(Source(str(root / folder / name), text))
        except InputError as error:
            problems.append(str(error))
        else:
            policies.extend((name, document) for document in documents if is_policy(document.body))
    entries: list[Entry] = []
    names = references(folder, [(file, _name(document.body)) for file, document in policies])
    for reference, (file, document) in zip(names, policies, strict=True):
        entries.append(_plain(one_line(reference), f"{folder}/{file}".lstrip("/"), document))
    return entries, problems


def _documents(source: Source) -> list[Document]:
    """A file's documents, under what guards of Helm stand around them; of code that a chart would
    refuse nothing is said here."""
    try:
        return read_policy_text(source)[1]
    except InputError as error:
        with contextlib.suppress(InputError):
            return read_text(source.text, source.file)
        raise error from None


def _plain(reference: str, file: str, document: Document) -> Entry:
    body = document.body
    annotations = mapping_at(body, "metadata", "annotations")
    name = _name(body)

    def about(key: str) -> str:
        value = annotations.get(_ANNOTATION + key)
        return "" if value is None or isinstance(value, dict | list) else one_line(str(value))

    subjects = dict.fromkeys(filter(None, map(str.strip, about("subject").split(","))))
    return Entry(
        library="",
        reference=reference,
        name=name,
        title=about("title") or name,
        description=about("description"),
        category=about("category"),
        severity=about("severity").lower(),
        subjects=tuple(subjects or matched(body)),
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
        subjects=tuple(one_line(str(subject)) for subject in list_of(metadata.get("subject"))),
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


def _ordered(kinds: Iterable[Kind]) -> list[Kind]:
    there = set(kinds)
    return [kind for kind in Kind if kind in there]


def _name(body: Body) -> str:
    return one_line(str(mapping_at(body, "metadata").get("name") or ""))


def matched(body: Body) -> list[str]:
    """The kinds that a policy matches (in CEL the resources, as they are named there)."""
    spec = body["spec"]
    rules = mappings_at(spec, "matchConstraints", "resourceRules")
    lists = [rule.get("resources") for rule in rules]
    for block in (spec, *mappings_at(spec, "rules")):
        match = mapping_at(block, "match")
        for block in (match, *mappings_at(match, "any"), *mappings_at(match, "all")):
            lists.append(mapping_at(block, "resources").get("kinds"))
    texts = [one_line(str(text)) for names in lists for text in list_of(names)]
    return list(dict.fromkeys(text.rpartition("/")[2] for text in texts))


def _minimum(claimed: str, bodies: Iterable[Body]) -> str:
    """The later version of a policy's own claim and the needs of its fields."""
    versions: list[Version] = []
    if claimed:
        # A claim that is not a version says nothing.
        with contextlib.suppress(InputError):
            versions.append(parse_version(claimed, "Kyverno"))
    for body in bodies:
        if body["kind"] in (*policy_fields.KINDS, "ClusterPolicy", "Policy"):
            versions.append(policy_fields.minimum_version(body)[0])
    return str(max(versions)) if versions else ""


@dataclass(frozen=True, slots=True)
class LibraryFolder:
    """A library: its name, where it stands, and whether it was vendored."""

    name: str
    root: Path
    vendored: bool = False


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every policy of every library, in the order of the libraries and of their references.
    problems: files that could not be read or are not what was vendored, each with its place."""

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def libraries(project: Path) -> list[LibraryFolder]:
    """The libraries that a project has, the built-in one first; raises InputError. project: the
    folder that chartkit.yaml and vendor/ stand in, or would."""
    return [
        LibraryFolder(BUILT_IN, bundled.library_dir()),
        *(LibraryFolder(folder.name, folder) for folder in own_libraries(project)),
        *(LibraryFolder(folder.name, folder, True) for folder in vendored(project)),
    ]


def ranks(folders: Sequence[LibraryFolder]) -> Callable[[Entry], int]:
    """The precedence of policies with the same name in several libraries: a project's own libraries
    (0), then the built-in ones, then the vendored ones."""
    prefixes = [
        (f"{folder.root}/", 2 if folder.vendored else 1 if folder.name == BUILT_IN else 0)
        for folder in folders
    ]

    def rank(entry: Entry) -> int:
        return next((rank for prefix, rank in prefixes if entry.file.startswith(prefix)), 0)

    return rank


def own_libraries(project: Path, made: Path | None = None) -> list[Path]:
    """The folders that `library` of chartkit.yaml names; none where there is no such file. made:
    one that need not be there, for it is about to be made. Raises InputError for another that is
    missing."""
    file = project / _PROJECT
    if not file.is_file():
        return []
    documents = read_file(file)
    body = documents[0].body if documents else None
    paths = (body.get("library") if isinstance(body, dict) else None) or []
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise InputError("library must be a list of folders", documents[0].locate("library"))
    for index, path in enumerate(paths):
        folder = project / path
        if not folder.is_dir() and (made is None or folder.resolve() != made.resolve()):
            location = documents[0].locate("library", index)
            hint = "make the folder, or take it out of the list"
            raise InputError(f"there is no policy library '{path}'", location, hint)
    return [project / path for path in paths]


def vendored(project: Path) -> list[Path]:
    """The folders of vendor/ that have a lock file."""
    folder = project / VENDOR
    if not folder.is_dir():
        return []
    paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return sorted(path for path in paths if (path / LOCK_FILE).is_file())


def read_catalogue(folders: Sequence[LibraryFolder]) -> Catalogue:
    """Every policy of some libraries; raises InputError."""
    entries: list[Entry] = []
    problems: list[str] = []
    for library in folders:
        indexed = read_index(library.name, library.root)
        entries.extend(indexed.entries)
        problems.extend(indexed.problems)
        if library.vendored:
            # Files that were looked at and are not as the lock file has them
            locked = read_lock(library.root).files
            for name, digest in indexed.digests.items():
                if locked.get(name) != digest:
                    what = "was changed since it was" if name in locked else "was not"
                    problems.append(f"{library.root / name}: {what} vendored")
    return Catalogue(tuple(entries), tuple(problems))


@dataclass(frozen=True, slots=True)
class IndexedLibrary:
    """A library's policies in the order of their references.

    problems: files that could not be read, each with its place; digests: SHA-256 of the files
    that were looked at, by path below the library.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    digests: Mapping[str, str]


def read_index(name: str, root: Path) -> IndexedLibrary:
    """The policies at and below a folder; raises InputError where there is no such folder. name:
    the library's, for its entries. Hidden files and folders, Helm charts, and what stands below a
    policy of chartkit's format (its examples) are passed over."""
    resolved = root.resolve()
    read_at = time.time_ns()
    shape = [field.name for field in fields(Entry)]
    store, key = Store("catalog"), digest_of(__version__, shape, str(resolved))
    kept = _known(store.load(key))
    units: dict[str, Unit] = {}
    for folder, stamps in _folders(resolved):
        unit = kept.get(folder)
        if unit is None or unit.stamps != stamps:
            unit = _unit(folder, stamps, resolved)
        units[folder] = unit
    if units != kept:
        old = read_at - RECENT
        settled = {
            name: asdict(unit)
            for name, unit in units.items()
            if all(max(stamp[1:]) < old for stamp in unit.stamps.values())
        }
        text = json.dumps(settled)
        store.save(key, [digest_of(text), text])
    return _indexed(name, root, units)


def index_files(name: str, root: Path, files: Mapping[str, bytes]) -> IndexedLibrary:
    """Index the policies of a library in memory, as `read_index` does for files below root."""
    folders: dict[str, dict[str, bytes]] = {}
    for path in sorted(files):
        folder, _, file = path.rpartition("/")
        if file.endswith(SUFFIXES) and not any(part.startswith(".") for part in path.split("/")):
            folders.setdefault(folder, {})[file] = files[path]
    units: dict[str, Unit] = {}
    for folder, contents in folders.items():
        parents = [str(parent) for parent in PurePosixPath(folder).parents]
        above = [folders.get("" if parent == "." else parent, {}).keys() for parent in parents]
        if _CHART in contents or any(_CHART in keys or keys >= _OWN_FORMAT for keys in above):
            continue
        stamps = {file: (len(content), 0, 0) for file, content in contents.items()}
        units[folder] = _unit(folder, stamps, root, contents)
    return _indexed(name, root, units)


def _indexed(name: str, root: Path, units: Mapping[str, Unit]) -> IndexedLibrary:
    entries: dict[str, Entry] = {}
    problems = [problem for unit in units.values() for problem in unit.problems]
    for unit in units.values():
        for entry in unit.entries:
            here = entry.below(name, root)
            first = entries.setdefault(entry.reference, here)
            if first is not here:
                problems.append(f"{here.location}: is named as the policy at {first.location}")
    ordered = sorted(entries.values(), key=lambda entry: entry.reference)
    digests = {
        f"{folder}/{file}".lstrip("/"): digest
        for folder, unit in units.items()
        for file, digest in unit.digests.items()
    }
    return IndexedLibrary(tuple(ordered), tuple(problems), digests)


def _folders(root: Path) -> Iterator[tuple[str, dict[str, Stamp]]]:
    """Each folder that may hold a policy, and its files."""
    waiting = [("", str(root))]
    while waiting:
        name, path = waiting.pop()
        files: dict[str, Stamp] = {}
        folders: list[tuple[str, str]] = []
        with system_errors("cannot be read", path), os.scandir(path) as listing:
            for entry in listing:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((f"{name}/{entry.name}".lstrip("/"), entry.path))
                elif entry.name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    files[entry.name] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        if _CHART in files:
            continue
        if files:
            yield name, dict(sorted(files.items()))
        if not files.keys() >= _OWN_FORMAT:
            waiting.extend(sorted(folders, reverse=True))


def _unit(
    folder: str,
    stamps: Mapping[str, Stamp],
    root: Path,
    contents: Mapping[str, bytes] | None = None,
) -> Unit:

    texts: dict[str, str] = {}
    digests: dict[str, str] = {}
    problems: list[str] = []
    for name, (size, _, _) in stamps.items():
        path = root / folder / name
        if size > _LARGEST:
            problems.append(f"{path}: is larger than {_LARGEST:,} bytes")
            continue
        try:
            content = path.read_bytes() if contents is None else contents[name]
            texts[name] = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            problems.append(f"{path}: cannot be read as text")
            continue
        digests[name] = hashlib.sha256(content).hexdigest()
    entries, unread = read_folder(folder, texts, root)
    return Unit(dict(stamps), digests, tuple(entries), (*problems, *unread))


Stamp = tuple[int, int, int]
"""A file's size, and when its content and its entry were changed, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One folder as it was read. stamps, digests: of its files by name, the digests SHA-256;
    entries: relative to the library; problems: why files could not be read, each with its place."""

    stamps: Mapping[str, Stamp]
    digests: Mapping[str, str]
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()


def _known(kept: Json) -> dict[str, Unit]:
    """The folders of a library as they were kept; none if the text has changed."""
    match kept:
        case [digest, str(text)] if digest == digest_of(text):
            units: dict[str, Json] = json.loads(text)
            return {name: _unit_of(unit) for name, unit in units.items()}
        case _:
            return {}


def _unit_of(body: Json) -> Unit:
    stamps = {name: tuple(stamp) for name, stamp in body["stamps"].items()}
    lists = ("subjects", "kinds", "forms")
    entries = (entry | {key: tuple(entry[key]) for key in lists} for entry in body["entries"])
    entries_read = tuple(Entry(**entry) for entry in entries)
    return Unit(stamps, body["digests"], entries_read, tuple(body["problems"]))
