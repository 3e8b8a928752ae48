"""Documentation of policies: a page of Markdown for each, and an index."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

from chartkit import bundled
from chartkit.catalog.entries import BUILT_IN, LibraryFolder, libraries, read_index
from chartkit.catalog.markdown import block, cell_code, code, link, prose
from chartkit.catalog.model import Entry
from chartkit.catalog.show import Details, details, does, needs_of
from chartkit.catalog.standards import built_in_standards, read_standard
from chartkit.documents.reader import read_file, resources
from chartkit.documents.yaml_dump import dump_documents
from chartkit.engine.cluster_policy.autogen import ANNOTATION as AUTOGEN
from chartkit.errors import InputError, system_errors
from chartkit.library.policies import PARAMETERS_FILE, POLICY_FILE, read_library
from chartkit.library.profiles import read_profile, resolve
from chartkit.library.templating import render_text
from chartkit.model import Body, Location
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import write_below
from chartkit.safe_text import markdown_rows
from chartkit.scan.verdicts import CLUSTER_FILE
from chartkit.suggestions import suggestion

MARK: Final = "<!-- Written by `chartkit policies docs`: what is changed here is lost. -->\n"
INDEX: Final = "README.md"
_LIMITS: Final[Mapping[str, str]] = {
    "minimum": "{} or more",
    "maximum": "{} or less",
    "minLength": "{} characters or more",
    "minItems": "{} or more of them",
}
_EXTENDED: Final = frozenset(("ValidatingPolicy", "MutatingPolicy", "ImageValidatingPolicy"))
_HEAD: Final = ("Policy", "Title", "Severity", "Objects", "What it does", "Kyverno")
_TEMPLATE: Final = Path(__file__).with_name("page.md.j2")
_DEEPEST: Final = 2
"""The number of folders between a policy and its library's shared parameters."""


@dataclass(frozen=True, slots=True)
class DocumentedLibrary:
    """A library, or a part of it, to write pages of; root: the whole library's folder."""

    name: str
    root: Path
    entries: tuple[Entry, ...]


def pages(libraries: Sequence[DocumentedLibrary]) -> dict[str, str]:
    """The pages' texts by their paths; raises InputError for a policy that cannot be read. Those of
    one library stand as its folders do; those of several, in a folder for each."""
    texts: dict[str, str] = {}
    for library in libraries:
        prefix = f"{library.name}/" if len(libraries) > 1 else ""
        paths = {entry.reference: _path(prefix, entry.reference) for entry in library.entries}
        said = mentions() if library.name == BUILT_IN else {}
        for entry in library.entries:
            mentioned = said.get(entry.reference, Mentions())
            text = _page(details(entry, library.root), paths, mentioned)
            texts[paths[entry.reference]] = text
    parts = [f"{MARK}# Policies\n"]
    for library in libraries:
        prefix = f"{library.name}/" if len(libraries) > 1 else ""
        if prefix:
            parts.append(f"## {prose(library.name)}\n")
        folders = groupby(library.entries, key=lambda entry: entry.reference.rpartition("/")[0])
        for folder, entries in folders:
            heading = "###" if prefix else "##"
            if folder:
                parts.append(f"{heading} {prose(folder)}\n")
            rows = [
                [
                    link(cell_code(entry.short), _path(prefix, entry.reference)),
                    prose(entry.title),
                    prose(entry.severity),
                    prose(", ".join(entry.subjects)),
                    prose(", ".join(entry.kinds)),
                    prose(entry.minimum),
                ]
                for entry in entries
            ]
            parts.append(markdown_rows(_HEAD, rows))
    texts[INDEX] = "\n".join(parts)
    return dict(sorted(texts.items()))


def _path(prefix: str, reference: str) -> str:
    """Return the path of a policy's page, never the path of the index."""
    path = f"{prefix}{reference}.md"
    return f"{prefix}{reference}-policy.md" if path.lower() == INDEX.lower() else path


def _page(shown: Details, paths: Mapping[str, str], mentioned: Mentions) -> str:
    """Return the page of a policy; paths: of all pages of its library, by reference. Raise the
    error of a form that cannot be rendered."""
    entry = shown.entry
    here = posixpath.dirname(paths[entry.reference]) or "."

    def helping(name: str) -> str:
        for reference, path in paths.items():
            if name in (reference, reference.rpartition("/")[2]):
                return link(code(reference), posixpath.relpath(path, here))
        return code(name)

    around = Path(entry.file).parent / CLUSTER_FILE
    there = resources(read_file(around)) if entry.own and around.is_file() else []
    context = {
        "mark": MARK,
        "entry": entry,
        "left_out": _left_out(shown),
        "control": shown.control,
        "standards": [link(prose(name), source) for name, source in mentioned.controls],
        "profiles": mentioned.profiles,
        "remediation": shown.remediation,
        "helping": list(map(helping, shown.counterpart)),
        "parameters": shown.parameters,
        "examples": zip(does(entry), (shown.examples.acts, shown.examples.leaves), strict=True),
        "around": [resource.body for resource in there],
        "needs": needs_of(entry),
        "up": posixpath.relpath(INDEX, here),
        "json": partial(json.dumps, ensure_ascii=False),
        "type": _type,
        "yaml": dump_documents,
        **{of.__name__: of for of in (block, cell_code, code, link, prose)},
        "table": markdown_rows,
    }
    return render_text(_TEMPLATE.read_text("utf-8"), context, str(_TEMPLATE))


def _left_out(shown: Details) -> str:
    """Describe the kinds that a form in CEL does not judge and the ClusterPolicy does: Kyverno does
    not extend policies in CEL to ReplicationControllers."""
    forms = _EXTENDED.intersection(shown.entry.forms)
    is_own = any(AUTOGEN in source.text for source in shown.sources)
    if "ClusterPolicy" not in shown.entry.forms or "Pod" not in shown.entry.subjects or is_own:
        return ""
    text = "ReplicationControllers, of which only the Pods count"
    return "; ".join(f"{form}: {text}" for form in sorted(forms))


def _type(schema: Body) -> str:
    items = schema.get("items")
    inner = items if isinstance(items, dict) else {}
    parts = [f"{schema.get('type')} of {inner.get('type')}" if inner else str(schema.get("type"))]
    parts += [text.format(schema[key]) for key, text in _LIMITS.items() if schema.get(key)]
    for part in (schema, inner):
        if isinstance(part.get("enum"), list):
            parts.append("of " + ", ".join(json.dumps(value) for value in part["enum"]))
    texts = [prose(", ".join(parts))]
    texts += [
        f"fits {cell_code(str(part['pattern']))}" for part in (schema, inner) if "pattern" in part
    ]
    return ", ".join(texts)


@dataclass(frozen=True, slots=True)
class Mentions:
    """controls: of standards, each with where it is written; profiles: those that have it."""

    controls: tuple[tuple[str, str], ...] = ()
    profiles: tuple[str, ...] = ()


def mentions() -> Mapping[str, Mentions]:
    """Return the mentions of the built-in policies, by reference. A profile that has a policy
    switched off says so: it ships in the chart, for values to switch it on."""
    controls: dict[str, list[tuple[str, str]]] = {}
    for name in built_in_standards():
        for control in read_standard(name).controls:
            said = f"{name.upper()} {control.id}", control.source
            for reference in (*control.policies, *control.also):
                controls.setdefault(reference, []).append(said)
    profiles: dict[str, list[str]] = {}
    library = read_library([bundled.library_dir()])
    for file in sorted(bundled.profiles_dir().glob("*.yaml")):
        profile = read_profile(file.stem, Path())
        for policy in resolve([profile], library).policies.values():
            label = profile.name if policy.enabled else f"{profile.name} (switched off)"
            profiles.setdefault(policy.policy.reference, []).append(label)
    return {
        reference: Mentions(tuple(controls.get(reference, ())), tuple(profiles.get(reference, ())))
        for reference in {**controls, **profiles}
    }


def documented(names: Sequence[str], project: Path) -> list[DocumentedLibrary]:
    """The policies that names mean; raises InputError for a name that means none. names: of
    libraries, or folders at and below which policies stand; none: every library that the project
    has."""
    folders = libraries(project)
    if not names:
        return [_whole(library) for library in folders]
    by_name: dict[str, DocumentedLibrary] = {}
    for name in names:
        library = _named(name, folders)
        other = by_name.setdefault(library.name, library)
        if other.root.resolve() != library.root.resolve():
            hint = "write their pages to folders of their own, one after the other"
            raise InputError(f"there are two libraries '{library.name}'", Location(name), hint)
        entries = {entry.reference: entry for entry in (*other.entries, *library.entries)}
        ordered = sorted(entries.values(), key=lambda entry: entry.reference)
        by_name[library.name] = replace(other, entries=tuple(ordered))
    return list(by_name.values())


def _named(name: str, folders: Sequence[LibraryFolder]) -> DocumentedLibrary:
    for library in folders:
        if library.name == name:
            return _whole(library)
    folder = Path(name)
    if not folder.is_dir():
        listed = [library.name for library in folders]
        hint = suggestion(name, listed) or f"libraries are {', '.join(listed)}"
        raise InputError(f"there is no library and no folder '{name}'", hint=hint)
    root = _root(folder.resolve())
    entries = [
        entry
        for entry in read_index(root.name, root).entries
        if Path(entry.file).is_relative_to(folder.resolve())
    ]
    if not entries:
        raise InputError("holds no policy", Location(name))
    return DocumentedLibrary(root.name, root, tuple(entries))


def _whole(library: LibraryFolder) -> DocumentedLibrary:
    return DocumentedLibrary(
        library.name, library.root, read_index(library.name, library.root).entries
    )


def _root(folder: Path) -> Path:
    """The library that a folder is in: where the shared parameters stand, or the folder itself."""
    for path in (folder, *list(folder.parents)[:_DEEPEST]):
        if (path / PARAMETERS_FILE).is_file() and not (path / POLICY_FILE).exists():
            return path
    return folder.parent if (folder / POLICY_FILE).is_file() else folder


def differences(pages: Mapping[str, str], folder: Path) -> list[str]:
    """Return the files of a folder that differ from the pages, a line each; raise InputError."""
    there = dict(_files(folder))
    problems = []
    for name in sorted({*pages, *there}):
        if name not in there:
            problems.append(f"{folder / name}: is missing")
        elif name not in pages:
            problems.append(f"{folder / name}: is of no policy any more")
        elif there[name] != pages[name].encode():
            problems.append(f"{folder / name}: is not as the policy is now")
    return problems


def publish(pages: Mapping[str, str], folder: Path) -> None:
    """Replace a folder of such pages by the pages, in one step; raises InputError, also where the
    folder holds anything else: nothing that people wrote is removed."""
    for name, content in _files(folder):
        if not content.startswith(MARK.encode()):
            hint = "give a folder that holds nothing else than these pages"
            message = "was not written by `policies docs`"
            raise InputError(message, Location(str(folder / name)), hint)
    with atomic_folder.replaced(folder) as new:
        write_below(new, pages)


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files below a folder by their paths there; none where there is no folder."""
    with system_errors("cannot be read", folder):
        if not folder.exists():
            return
        for file in sorted(folder.rglob("*")):
            if file.is_symlink() or not file.is_dir():
                yield file.relative_to(folder).as_posix(), file.read_bytes()
