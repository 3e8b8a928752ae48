"""Releases as objects declare them, the repository that they are in, Flux's variables, and values
by names such as `controller.args[0]`.

The names are those of `helm --set` (source: helm.sh/helm/v3/pkg/strvals).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from chartkit.documents.embedded import embedded_mapping, embedded_text
from chartkit.documents.reader import Document, read_text
from chartkit.errors import InputError
from chartkit.helm.chart_values import ValuesSource
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    Location,
    Places,
    Resource,
    Severity,
    mapping_at,
    mappings_at,
    pointer_of,
    pointer_steps,
    text_of,
    texts_of,
)

_ENGINE: Final = "kyverno"
_MOST_LETTERS: Final = 4_000_000
RULE: Final = "gitops"
"""The ID of notes about releases that objects declare."""
NAMESPACE: Final = "CK611"
SERVER_SIDE: Final = "CK612"
DIFFERENCES: Final = "CK613"
PRESERVED: Final = "CK614"
_OTHERS_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_COMPARING: Final = "argocd.argoproj.io/compare-options"
_VARIABLE: Final = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)(?::?[=-]([^{}$]*)|[^{}$]*)\}")
_ESCAPED: Final = "\x00{"
_DEEPEST: Final = 5
"""Defaults within defaults that are filled in."""
_STEP: Final = re.compile(r"((?:[^.\\\[]|\\.)+)|\[(\d{1,5})\]|(\.)")
_ESCAPE: Final = re.compile(r"\\(.)")
_NUMBER: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,17})")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None, "": ""}
_MOST_ITEMS: Final = 65_536
"""List items up to the greatest index that Helm takes, here of all values together."""
_MOST_STEPS: Final = 30


@dataclass(slots=True)
class DeclaredRelease:
    """A release that an object declares.

    chart: a path in the repository, or the chart's name; version: of the chart as written, which
    may be a range; origin: where the chart is instead, empty for in the repository; values: the
    last wins; pointer: of the field that names the chart;
    unknown: paths of values that variables without a default give; faults: what cannot be found of
    the values.
    """

    owner: Resource
    chart: str = ""
    version: str = ""
    origin: str = ""
    values: list[ValuesSource] = field(default_factory=list)
    release: str = ""
    namespace: str = ""
    pointer: str = "/spec"
    kube_version: str | None = None
    api_versions: tuple[str, ...] = ()
    unknown: tuple[FieldPath, ...] = ()
    faults: list[Diagnostic] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The object in messages: `HelmRelease 'web'`."""
        return f"{self.owner.kind} '{self.owner.name}'"

    @property
    def is_engine(self) -> bool:
        """Report whether its chart is Kyverno's, by its name."""
        return self.chart.rstrip("/").rpartition("/")[2] == _ENGINE

    def fault(self, message: str, pointer: str, hint: str | None = None, rule: str = RULE) -> None:
        """Add a warning about a field of the object."""
        self._add(rule, Severity.WARNING, message, pointer, hint)

    def note(self, message: str, pointer: str, hint: str | None = None, rule: str = RULE) -> None:
        """Add a note about a field of the object."""
        self._add(rule, Severity.NOTE, message, pointer, hint)

    def _add(
        self, rule: str, severity: Severity, message: str, pointer: str, hint: str | None
    ) -> None:
        location = self.owner.location.within(pointer)
        self.faults.append(Diagnostic(rule, severity, f"{self.name}: {message}", location, hint))


def mapping_document(resource: Resource, value: Json, *path: str | int) -> ValuesSource | None:
    """Return a mapping in an object as values; None for anything else."""
    if not isinstance(value, dict):
        return None
    places, prefix = resource.location.places, pointer_steps(resource.location.path)
    if places is None:
        return value
    steps = (*prefix, *map(str, path))
    return embedded_mapping(value, resource.location.file, places, steps)


def text_document(resource: Resource, text: str, *path: str | int) -> Document | None:
    """Return a text in an object as values; None for an empty one. Raise InputError, at the text's
    place."""
    places, prefix = resource.location.places, pointer_steps(resource.location.path)
    location = resource.location.within(pointer_of(*path))
    if places is None:
        places = _Nowhere(location)
    try:
        document = embedded_text(text, resource.location.file, places, (*prefix, *map(str, path)))
    except InputError as error:
        raise InputError(error.message, location, error.hint) from None
    if document is not None and not isinstance(document.body, dict):
        raise InputError("must be a mapping of values", location)
    return document


@dataclass(frozen=True, slots=True)
class _Nowhere(Places):
    """The places of an object without a text."""

    place: Location

    def locate(self, *_path: str | int) -> Location:
        return self.place


class Room:
    """The letters that templates and referenced texts may have together in one run."""

    def __init__(self) -> None:
        self._left = _MOST_LETTERS

    def take(self, letters: int) -> None:
        """Count letters; raise InputError beyond the most."""
        if letters > self._left:
            raise InputError(f"come to more than {_MOST_LETTERS:,} letters with all repetitions")
        self._left -= letters


@dataclass(frozen=True, slots=True)
class Repository:
    """The folders below which charts and values files are looked for. find_root: gives the
    repository of a file, None if there is none; folders: the scanned ones."""

    folders: Sequence[Path]
    find_root: Callable[[Path], Path | None]
    room: Room = field(default_factory=Room)

    def find(self, owner: Resource, path: str) -> Path | None:
        """Return a file or folder of the repository of an object, or of a scanned folder; None
        where it is not there, or outside."""
        root = self.find_root(Path(owner.location.file))
        for folder in [root, *self.folders] if root is not None else self.folders:
            # A name that no system takes, or a link to itself, is not there.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                whole = (folder / path.lstrip("/")).resolve(strict=True)
                if whole.is_relative_to(folder.resolve()):
                    return folder / path.lstrip("/")
        return None


def add_faults(release: DeclaredRelease) -> None:
    """Add to a release of Kyverno what is wrong with how and where its object deploys it."""
    if release.namespace in _OTHERS_NAMESPACES:
        message = f"Kyverno goes into the namespace '{release.namespace}', beside others"
        hint = "give Kyverno a namespace of its own, such as kyverno"
        release.fault(message, "/spec", hint, NAMESPACE)
    body, top = release.owner.body, ""
    if release.owner.kind == "ApplicationSet":
        body, top = mapping_at(body, "spec", "template"), "/spec/template"
    elif release.owner.kind != "Application":
        return
    options = texts_of(mapping_at(body, "spec", "syncPolicy").get("syncOptions"))
    if "ServerSideApply=true" not in options:
        message = "without ServerSideApply=true Argo CD cannot apply Kyverno's definitions, "
        message += "which are too large for its annotation"
        hint = "add ServerSideApply=true to spec.syncPolicy.syncOptions"
        if "Replace=true" in options:
            message = "Replace=true replaces objects as a whole, with what others wrote into them"
            hint = "write ServerSideApply=true in its place under spec.syncPolicy.syncOptions"
        release.fault(message, f"{top}/spec", hint, SERVER_SIDE)
    compared = str(mapping_at(body, "metadata", "annotations").get(_COMPARING) or "")
    kinds = {text_of(entry.get("kind")) for entry in mappings_at(body, "spec", "ignoreDifferences")}
    missing = [] if "ServerSideDiff=true" in compared else [f"{_COMPARING}: ServerSideDiff=true"]
    missing += [] if kinds & {"ClusterRole", "*"} else ["ClusterRole in ignoreDifferences"]
    if missing:
        message = f"may stay out of sync: it has no {' and no '.join(missing)}"
        hint = "leave it where Argo CD is set up so as a whole"
        release.note(message, f"{top}/metadata", hint, DIFFERENCES)
    if release.origin and not release.unknown and _preserve(release) is not False:
        message = "config.preserve is true: Argo CD may not remove Kyverno with the Application"
        release.note(message, release.pointer, "set config.preserve: false", PRESERVED)


def _preserve(release: DeclaredRelease) -> Json:
    """Return the value of config.preserve that a release gives its chart; None if there is none,
    and False where values are not known."""
    preserve: Json = None
    for value in release.values:
        body = value.body if isinstance(value, Document) else value
        if not isinstance(body, dict):
            return False
        preserve = mapping_at(body, "config").get("preserve", preserve)
    return preserve


class _UnknownError(Exception):
    """A variable without a default."""


def filled(value: Json, unknown: list[FieldPath]) -> Json:
    """Return a value with the default of each variable in its texts. A text or list with a variable
    that has no default is left out, and its path added to `unknown`."""
    try:
        return _filled(value, unknown, ())
    except _UnknownError:
        unknown.append(())
        return None


def _filled(value: Json, unknown: list[FieldPath], path: FieldPath) -> Json:
    if isinstance(value, dict):
        members: Body = {}
        for key, item in value.items():
            try:
                members[key] = _filled(item, unknown, (*path, key))
            except _UnknownError:
                unknown.append((*path, key))
        return members
    if isinstance(value, list):
        inside: list[FieldPath] = []
        items = [_filled(item, inside, ()) for item in value]
        if inside:
            raise _UnknownError
        return items
    # A text with its variables replaced, of the type that YAML then gives it; raise _UnknownError.
    if isinstance(value, str) and "${" in value:
        expanded = value
        for _ in range(_DEEPEST):
            before, expanded = expanded, _VARIABLE.sub(_default, expanded)
            if expanded == before:
                break
        expanded = expanded.replace(_ESCAPED, "${")
        if expanded == value or "\n" in expanded:
            return expanded
        try:
            documents = read_text(expanded)
        except InputError:
            return expanded
        return documents[0].body if len(documents) == 1 else None
    return value


def _default(match: re.Match[str]) -> str:
    if match[1] is None:
        return _ESCAPED
    if match[2] is None:
        raise _UnknownError
    return match[2]


class ValueNameError(ValueError):
    """A name that is not a path of values."""


def steps_of(name: str) -> list[str | int]:
    """Return the keys and indices of a name; raise ValueNameError."""
    steps: list[str | int] = []
    at = 0
    while at < len(name):
        match = _STEP.match(name, at)
        if match is None or len(steps) > _MOST_STEPS:
            raise ValueNameError(name)
        key, index, dot = match.groups()
        if key is not None:
            steps.append(_ESCAPE.sub(r"\1", key))
        elif dot is None:
            steps.append(int(index))
        at = match.end()
    if not steps or isinstance(steps[0], int):
        raise ValueNameError(name)
    return steps


def typed(text: str) -> Json:
    """Return the value of a text: true, false, null, a number, a list, or itself."""
    if text.startswith("{") and text.endswith("}"):
        return [_scalar(part) for part in text[1:-1].split(",")] if text != "{}" else []
    return _scalar(text)


def _scalar(text: str) -> Json:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _NUMBER.fullmatch(text) else text


class NamedValues:
    """Values that are set one after the other, by their names."""

    def __init__(self) -> None:
        self.values: Body = {}
        self._unset = 0

    def set(self, name: str, value: Json) -> None:
        """Set a value; raise ValueNameError for an invalid name."""
        steps = steps_of(name)
        holder: Json = self.values
        for step, following in pairwise(steps):
            if isinstance(step, int) and isinstance(holder, list):
                inner = holder[step] if step < len(holder) else None
            else:
                inner = holder.get(step) if isinstance(holder, dict) else None
            kind = list if isinstance(following, int) else dict
            if not isinstance(inner, kind):
                inner = kind()
                self._put(holder, step, inner)
            holder = inner
        self._put(holder, steps[-1], value)

    def _put(self, holder: Json, step: str | int, value: Json) -> None:
        if isinstance(step, int) and isinstance(holder, list):
            missing = step + 1 - len(holder)
            self._unset += max(missing, 0)
            if self._unset > _MOST_ITEMS:
                raise ValueNameError(str(step))
            holder += [None] * missing
        holder[step] = value
