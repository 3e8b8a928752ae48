"""Upstream policies, found by reference in a library's folder.

They have no metadata.yaml: a policy is a document of a file, as Kyverno reads it. Its reference is
its folder; where a folder has several, with their files and own names too.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document, Source, read_source, read_text
from chartkit.errors import InputError
from chartkit.helm.embedded_code import UNKNOWN, UpstreamText, read_upstream
from chartkit.helm.syntax import escape_all
from chartkit.kyverno import policy_fields
from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.kyverno.versions import parse_version
from chartkit.library.policies import LibraryPolicy
from chartkit.model import Body, Json, Location, mapping_at
from chartkit.network.downloads.lockfile import digest

SUFFIXES: Final = (".yaml", ".yml")
OWN_FORMAT: Final = frozenset({"policy.yaml", "metadata.yaml"})
"""The files of a policy in chartkit's own format."""
_CHART: Final = "Chart.yaml"
_LARGEST: Final = 2_000_000
"""Bytes: a larger file is not a policy that Kubernetes would take."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,198}[a-z0-9])?")
"""A name of Kubernetes that a file can have too."""
_ANNOTATION: Final = "policies.kyverno.io/"
_SEPARATOR: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


class UpstreamForm(StrEnum):
    """The form that a policy of a kind has in the chart; the chart's templates have these words."""

    RULES = "ClusterPolicy"
    CEL = "ValidatingPolicy"
    CLEANUP = "CleanupPolicy"
    ADMISSION = "ValidatingAdmissionPolicy"


_ADMISSION_GROUP: Final = "admissionregistration.k8s.io"
FORMS: Final[Mapping[str, tuple[str, UpstreamForm]]] = {
    "ClusterPolicy": ("kyverno.io", UpstreamForm.RULES),
    "Policy": ("kyverno.io", UpstreamForm.RULES),
    "ClusterCleanupPolicy": ("kyverno.io", UpstreamForm.CLEANUP),
    "CleanupPolicy": ("kyverno.io", UpstreamForm.CLEANUP),
    **dict.fromkeys(policy_fields.KINDS, (policy_fields.GROUP, UpstreamForm.CEL)),
    "ValidatingAdmissionPolicy": (_ADMISSION_GROUP, UpstreamForm.ADMISSION),
    "MutatingAdmissionPolicy": (_ADMISSION_GROUP, UpstreamForm.ADMISSION),
}
"""The API group of each kind of policy, and its form in the chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamPolicy(LibraryPolicy):
    """A policy as its file has it, without metadata.yaml: its annotations describe it.

    template: its text for Helm; document: the policy, of a text with Helm code what is known
    without Helm; bound: the bindings next to an admission policy; guards: see `UpstreamText`.
    """

    document: Document = field(repr=False, compare=False)
    bound: tuple[Document, ...] = field(repr=False, compare=False)
    has_code: bool
    guards: tuple[str, ...]

    @property
    def location(self) -> Location:
        """The place where it begins."""
        return self.document.location

    @property
    def body(self) -> Body:
        """The policy as an object."""
        body: Body = self.document.body
        return body

    @property
    def bindings(self) -> tuple[str, ...]:
        """Its bindings as text for Helm."""
        return tuple(map(_text, self.bound))

    @property
    def kind(self) -> str:
        """The kind in its file."""
        return str(self.body["kind"])

    @property
    def form(self) -> UpstreamForm:
        """The form that it has in the chart."""
        return FORMS[self.kind][1]


def about(policy: UpstreamPolicy, group: str) -> Body:
    """Return the facts that the chart's templates have about a policy; see
    `kyverno-policies.about`. group: the standard's group that it is in, `other` for none."""
    facts: Body = {
        "group": group if group in ("baseline", "restricted") else "other",
        "standard": False,
        "upstream": True,
        "form": str(policy.form),
        "kind": policy.kind,
        "apiGroup": FORMS[policy.kind][0],
        "code": policy.has_code,
        "bindings": len(policy.bindings),
        "minimum": str(policy.minimum_kyverno),
        "shared": [],
        "defaults": {},
        "annotations": {},
    }
    if policy.form is UpstreamForm.CEL:
        minimum = policy_fields.minimum_version(policy.body)[0]
        pods = extends_to_controllers(policy.body)
        return facts | {"cel": policy.kind, "celMinimum": str(minimum), "pods": pods}
    return facts | {"cel": None}


def is_policy(body: Json) -> bool:
    """Report whether a value is a policy of one of the kinds."""
    if not isinstance(body, dict) or not isinstance(body.get("spec"), dict):
        return False
    group = str(body.get("apiVersion") or "").partition("/")[0]
    return FORMS.get(str(body.get("kind")), ("", None))[0] == group


def is_policy_name(name: str) -> bool:
    """Report whether a policy of this name can be in a chart, which has a file of its name."""
    return _NAME.fullmatch(name) is not None


def references(folder: str, named: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Return the references of a folder's policies. folder: its path below the library's, empty for
    the library itself; named: file and own name of each."""
    files = Counter(file for file, _ in named)
    for file, name in named:
        reference = folder
        if not folder or len(files) > 1:
            reference = f"{folder}/{Path(file).stem}".lstrip("/")
        yield f"{reference}/{name}" if files[file] > 1 else reference


class UpstreamLibrary:
    """A library's folder, looked through when it is first asked for a policy."""

    def __init__(self, name: str, root: Path, locked: Mapping[str, str] | None = None) -> None:
        """locked: the SHA-256 of every file by its path in the library; None: the library's owner
        may change them."""
        self.name = name
        self.root = root
        self._locked = locked
        self._read: dict[str, list[_Found]] = {}
        self._answers: dict[str, list[UpstreamPolicy]] = {}

    @property
    def is_own(self) -> bool:
        """True if it is the project's own, and not vendored."""
        return self._locked is None

    @cached_property
    def _folders(self) -> Mapping[str, Sequence[str]]:
        return dict(_folders(self.root))

    @cached_property
    def _by_step(self) -> Mapping[str, Sequence[str]]:
        """The folders that may hold a policy whose reference ends with a word, or with that and
        another one: by their own names and their files'."""
        folders: dict[str, list[str]] = {}
        for folder, files in self._folders.items():
            own = folder.rpartition("/")[2] or self.name
            for step in {own, *(Path(file).stem for file in files)}:
                folders.setdefault(step, []).append(folder)
        return folders

    def find(self, wanted: str) -> list[UpstreamPolicy]:
        """The policies that a name means; raises InputError for one that cannot be used. wanted:
        what follows from the end of `library/folder/name`, or else what the policy calls itself."""
        answer = self._answers.get(wanted)
        if answer is None:
            steps = wanted.split("/")
            near = {folder: None for step in steps[-2:] for folder in self._by_step.get(step, ())}
            nearby = [policy for folder in near for policy in self._policies(folder)]
            named = [
                item for item in nearby if f"/{self.name}/{item.reference}".endswith(f"/{wanted}")
            ]
            exact = [item for item in named if item.reference == wanted]
            if not named and len(steps) == 1 and _NAME.fullmatch(wanted):
                for folder, files in self._folders.items():
                    # The name may stand in a variable of Helm's; the policy itself decides.
                    if any(wanted in text for _, text in _texts(self.root / folder, files)):
                        for item in self._policies(folder):
                            named += [item] if _own_name(item.document.body) == wanted else []
            entries = exact or named
            for entry in entries:
                self._require_locked(Path(entry.document.source.file))
            answer = self._answers[wanted] = [_policy(entry, self.name) for entry in entries]
        return answer

    def _require_locked(self, file: Path) -> None:
        if self._locked is None:
            return
        name = file.relative_to(self.root).as_posix()
        if self._locked.get(name) != digest(file.read_bytes()):
            hint = "put it back as it was, or take the policy into a library of your own"
            raise InputError("was changed since it was vendored", Location(str(file)), hint)

    def has_own_format(self, reference: str) -> bool:
        """Report whether a folder is a policy in chartkit's own format; reference: with the
        library's name or without."""
        steps = reference.removeprefix(f"{self.name}/").split("/")
        folder = self.root.joinpath(*steps)
        return ".." not in steps and all((folder / file).is_file() for file in OWN_FORMAT)

    @property
    def references(self) -> list[str]:
        """Every policy's folder and name; reads the whole library, without what cannot be read."""
        names: list[str] = []
        for folder in self._folders:
            with contextlib.suppress(InputError):
                names += [policy.reference for policy in self._policies(folder)]
        return names

    def below(self, folder: str) -> list[str]:
        """The references of the policies in a folder, named with the library's name or without."""
        name = folder.removeprefix(f"{self.name}/")
        return [item.reference for item in self._policies(name)] if name in self._folders else []

    def _policies(self, folder: str) -> list[_Found]:
        policies = self._read.get(folder)
        if policies is None:
            policies = self._read[folder] = _read_folder(self.root, folder, self._folders[folder])
        return policies


def _folders(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Folders with their YAML files; hidden ones, Helm charts and chartkit's format aside."""
    for path, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if _CHART in names or set(names) >= OWN_FORMAT:
            below.clear()
            continue
        files = [name for name in sorted(names) if name.endswith(SUFFIXES) and name[0] != "."]
        if files:
            folder = Path(path).relative_to(root).as_posix()
            yield "" if folder == "." else folder, files


def _texts(folder: Path, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    for file in files:
        path = folder / file
        if path.is_symlink() or path.stat().st_size > _LARGEST:
            continue
        text = read_source(path)
        if "Policy" in text:
            yield file, text


@dataclass(frozen=True, slots=True)
class _Found:
    """A policy's document; beside: its file's documents, of which alone is the only policy."""

    reference: str
    upstream: UpstreamText
    document: Document
    beside: tuple[Document, ...]
    alone: bool


def _read_folder(root: Path, folder: str, files: Sequence[str]) -> list[_Found]:
    read = []
    for file, text in _texts(root / folder, files):
        upstream, documents = read_policy_text(Source(str(root / folder / file), text))
        policies = [item for item in documents if is_policy(item.body)]
        read += [(file, upstream, policy, documents, len(policies) == 1) for policy in policies]
    names = references(folder, [(file, _own_name(item.body)) for file, _, item, _, _ in read])
    return [
        _Found(reference, upstream, document, tuple(documents), alone)
        for reference, (_, upstream, document, documents, alone) in zip(names, read, strict=True)
    ]


def read_policy_text(source: Source) -> tuple[UpstreamText, list[Document]]:
    """A file's text, and its documents as far as they are known without Helm; raises InputError."""
    upstream = read_upstream(source)
    return upstream, read_text(upstream.outline, source.file)


def _own_name(body: Json) -> str:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return str(mapping_at(metadata).get("name") or "")


def _policy(entry: _Found, library: str) -> UpstreamPolicy:
    """Return the policy of a document; raise InputError for one that the chart cannot have."""
    document, has_code = entry.document, entry.upstream.has_code
    body: Body = document.body
    name = _own_name(body)
    is_text = isinstance(mapping_at(body.get("metadata")).get("name"), str)
    if not is_text or (has_code and UNKNOWN in name) or not _NAME.fullmatch(name):
        hint = "the chart has to know it: lower-case letters, digits, '-' and '.'"
        message = f"'{name}' cannot be the name of a policy"
        raise InputError(message, document.locate("metadata", "name"), hint)
    if has_code and not entry.alone:
        message = "has several policies and Helm code"
        raise InputError(message, document.location, "give each policy a file of its own")
    # Rules of a ClusterPolicy are named by values, so that each needs a name
    if FORMS[body["kind"]][1] is UpstreamForm.RULES:
        rules = body["spec"].get("rules")
        for index, rule in enumerate(rules if isinstance(rules, list) else [None]):
            if not isinstance(rule, dict) or not isinstance(rule.get("name"), str):
                what = f"policy '{name}' has no rules, or one without a name"
                raise InputError(what, document.locate("spec", "rules", index))
    bindings = [item for item in entry.beside if not has_code and _binds(item.body, body)]
    file = document.source.file
    # The later one of the version that a policy claims and the one that its fields need.
    versions = [policy_fields.OLDEST]
    if FORMS[str(body["kind"])][1] in (UpstreamForm.CEL, UpstreamForm.RULES):
        versions.append(policy_fields.minimum_version(body)[0])
    annotations = mapping_at(body["metadata"].get("annotations"))
    # A claim that is not a version says nothing.
    with contextlib.suppress(InputError):
        versions.append(parse_version(str(annotations.get(f"{_ANNOTATION}minversion")), "Kyverno"))
    return UpstreamPolicy(
        name=name,
        reference=entry.reference,
        group=entry.reference.rpartition("/")[0],
        folder=Path(file).parent,
        title=_annotation(body, "title") or name,
        category=_annotation(body, "category"),
        severity=_annotation(body, "severity"),
        subject=tuple(filter(None, map(str.strip, _annotation(body, "subject").split(",")))),
        description=_annotation(body, "description"),
        minimum_kyverno=max(versions),
        template=Source(file, entry.upstream.template if has_code else _text(document)),
        library=library,
        document=document,
        bound=tuple(bindings),
        has_code=has_code,
        guards=entry.upstream.guards,
    )


def _annotation(body: Body, key: str) -> str:
    """Return the annotation `policies.kyverno.io/KEY` as one line; empty if it is missing."""
    value = mapping_at(body["metadata"].get("annotations")).get(_ANNOTATION + key)
    if value is None or isinstance(value, dict | list):
        return ""
    return " ".join(str(value).split())


def _text(document: Document) -> str:
    """A document for Helm, to which all that is in it is text."""
    text = document.source.text[document.start : document.end]
    return escape_all(_SEPARATOR.sub("", text))


def _binds(body: Json, policy: Body) -> bool:
    if not isinstance(body, dict) or body.get("kind") != f"{policy['kind']}Binding":
        return False
    return bool(mapping_at(body.get("spec")).get("policyName") == policy["metadata"]["name"])
