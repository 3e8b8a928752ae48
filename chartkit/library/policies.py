"""The policy library: a folder a policy, read into `FolderPolicy`.

`<folder>/<category>/<name>/` holds `policy.yaml` (a template, see `library.parameters`), as a
rule its second form `cel.yaml` (a template too, of a kind of policies.kyverno.io/v1),
`metadata.yaml` (format: `schemas/policy.schema.json`), `good.yaml` and `bad.yaml` (resources that
must pass and must fail, in both forms), and `cases/<case>/` with `parameters.yaml` and its own
`good.yaml`, `bad.yaml` or both, where other parameter values are to be shown.
`<folder>/parameters.yaml` holds the parameters that several policies share.

Upstream policies (`chartkit.library.upstream`) have no metadata.yaml; they are read when they are
named.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from chartkit import bundled
from chartkit.documents.reader import Document, Source, read_file, read_source
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Json, Location
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

if TYPE_CHECKING:
    from chartkit.library.upstream import UpstreamLibrary

POLICY_FILE = "policy.yaml"
CEL_FILE = "cel.yaml"
METADATA_FILE = "metadata.yaml"
PARAMETERS_FILE = "parameters.yaml"
GOOD_FILE = "good.yaml"
BAD_FILE = "bad.yaml"
CASES_FOLDER = "cases"
METADATA_SCHEMA = "policy.schema.json"


class Control(NamedTuple):
    """The control of a standard or guide that a policy implements, and its source."""

    name: str
    source: str


class Parameter(NamedTuple):
    """A value that users set. schema: its JSON Schema, with `description` and `default`; shared:
    whether one value goes to every policy that has it."""

    name: str
    schema: Body
    shared: bool = False

    @property
    def default(self) -> Json:
        """The value where none is set."""
        return self.schema["default"]

    @property
    def type(self) -> str:
        """Its JSON type: string, integer, boolean or array."""
        return str(self.schema["type"])


class Examples(NamedTuple):
    """Resources with a known result at these parameter values.

    name: empty for the policy's own `good.yaml` and `bad.yaml`; parameters: what differs from the
    defaults; good, bad: the files, None where a case has none.
    """

    name: str
    parameters: Mapping[str, Json]
    good: Path | None
    bad: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPolicy:
    """A policy of a library: a `FolderPolicy` or an `UpstreamPolicy`.

    reference: its name in profiles (`baseline/disallow-privileged-containers`); group: the folder
    that it is in (`baseline`); folder: its files'; title, category, severity, subject, description:
    its annotations; minimum_kyverno: the oldest version that runs it, in the form of `template`;
    counterpart: policies that fix, generate or guard what this one refuses, by name or reference;
    library: its library's name; instead_of: the policies of other libraries, qualified, that the
    reference means where the project has none of its own.
    """

    name: str
    reference: str
    group: str
    folder: Path
    title: str
    category: str
    severity: str
    subject: tuple[str, ...]
    description: str
    minimum_kyverno: Version
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    template: Source = field(repr=False)
    counterpart: tuple[str, ...] = ()
    library: str = ""
    instead_of: tuple[str, ...] = field(default=(), compare=False)

    @property
    def qualified(self) -> str:
        """Its reference with its library's name, unique among all policies."""
        return f"{self.library}/{self.reference}"

    @property
    def defaults(self) -> dict[str, Json]:
        """Every parameter's default value."""
        return {name: parameter.default for name, parameter in self.parameters.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPolicy(LibraryPolicy):
    """A policy in chartkit's own format: a folder with metadata.yaml.

    template: `policy.yaml`; cel: `cel.yaml`, None where the policy has no such form; messages:
    those of both forms by name, as a rule the rule's; remediation: what the owner of a refused
    object changes.
    """

    control: Control
    examples: tuple[Examples, ...]
    cel: Source | None = field(default=None, repr=False)
    messages: Mapping[str, str] = field(default_factory=dict)
    remediation: str = ""


class Library(NamedTuple):
    """Policies by library and reference, in the order of their references.

    upstream: the libraries of upstream policies, a project's own and the vendored ones; they are
    read when they are named.
    """

    policies: Mapping[str, FolderPolicy]
    upstream: tuple[UpstreamLibrary, ...] = ()

    def find(self, reference: str, location: Location | None = None) -> LibraryPolicy:
        """The policy of a reference: `category/name`, or from the end what is enough of
        `library/category/name`.

        A project's own libraries go before the built-in one, and that before the vendored ones;
        see `instead_of` of the policy. Raises InputError where there is none, and where several
        libraries of one rank have it.
        """
        named = [policy for policy in self._qualified(reference) if policy.qualified == reference]
        if named:
            return self._hiding(_single(named, reference, location))
        for look_up in (self._own, self._built_in, self._vendored):
            policies = look_up(reference)
            if policies:
                policy = _single(policies, reference, location)
                if look_up != self._own:
                    return policy
                # A policy of a project's own has those that its name would mean without it.
                others = list(self._built_in(reference))
                with contextlib.suppress(InputError):  # One that is not used need not be usable.
                    others += self._vendored(reference)
                return replace(policy, instead_of=tuple(other.qualified for other in others))
        raise self._unknown(reference, location)

    def has(self, reference: str) -> bool:
        """Report whether there is a policy of a reference, or several."""
        look_ups = (self._qualified, self._own, self._built_in, self._vendored)
        return any(look_up(reference) for look_up in look_ups)

    def hides(self, reference: str) -> bool:
        """Report whether a project's own policy goes before the built-in one of a reference."""
        return bool(self._own(reference))

    def _own(self, reference: str) -> Sequence[LibraryPolicy]:
        own = (policy for policy in self.policies.values() if policy.library != bundled.LIBRARY)
        return [*_meant(own, reference), *self._upstream(reference, is_own=True)]

    def _built_in(self, reference: str) -> Sequence[LibraryPolicy]:
        built_in = (item for item in self.policies.values() if item.library == bundled.LIBRARY)
        return _meant(built_in, reference)

    def _vendored(self, reference: str) -> Sequence[LibraryPolicy]:
        return self._upstream(reference, is_own=False)

    def _upstream(self, reference: str, is_own: bool) -> Sequence[LibraryPolicy]:
        return [
            policy
            for library in self.upstream
            if library.is_own == is_own
            for policy in library.find(reference)
        ]

    def _qualified(self, reference: str) -> Sequence[LibraryPolicy]:
        """Return the policies of a reference in the library that it names."""
        name = reference.partition("/")[0]
        policies = [self.policies[reference]] if reference in self.policies else []
        named = [library for library in self.upstream if library.name == name]
        # A vendored library of the same name as one of the project's own is ignored.
        named = [library for library in named if library.is_own] or named
        return [*policies, *(policy for library in named for policy in library.find(reference))]

    def _hiding(self, policy: LibraryPolicy) -> LibraryPolicy:
        """A policy that is named as a whole, with the vendored one of its name that it hides."""
        policies: Sequence[LibraryPolicy] = ()
        if any(library.is_own and library.name == policy.library for library in self.upstream):
            with contextlib.suppress(InputError):
                policies = self._vendored(policy.qualified)
        same = tuple(other.qualified for other in policies if other.qualified == policy.qualified)
        return replace(policy, instead_of=same)

    def _unknown(self, reference: str, location: Location | None) -> InputError:
        names = [policy.reference for policy in self.policies.values()]
        names += [policy.name for policy in self.policies.values()]
        names += [name for library in self.upstream for name in library.references]
        there = [name for library in self.upstream for name in library.below(reference)]
        if there:
            hint: str | None = f"it is a folder, say which of it: {', '.join(there)}"
        else:
            hint = suggestion(reference, names)
        for library in self.upstream:
            if library.has_own_format(reference):
                message = (
                    f"policy '{reference}' is in chartkit's own format, whose templates are run"
                )
                hint = f"where you trust it, name {library.root} under `library` of chartkit.yaml"
                return InputError(message, location, hint)
        return InputError(f"there is no policy '{reference}'", location, hint)


def _single(
    policies: Sequence[LibraryPolicy], reference: str, location: Location | None
) -> LibraryPolicy:
    """The only policy, or the only one that has exactly this reference; raises InputError."""
    policies = [policy for policy in policies if policy.reference == reference] or policies
    if len(policies) > 1:
        names = ", ".join(policy.qualified for policy in policies)
        message = f"there are {len(policies)} policies '{reference}'"
        raise InputError(message, location, f"say which: {names}")
    return policies[0]


def _meant(policies: Iterable[FolderPolicy], reference: str) -> list[FolderPolicy]:
    return [policy for policy in policies if f"/{policy.qualified}".endswith(f"/{reference}")]


def vendored_libraries(root: Path) -> list[UpstreamLibrary]:
    """The libraries in `vendor/` of a project's folder: those that have a lock file. Raises
    InputError for a damaged one."""
    from chartkit.library.upstream import UpstreamLibrary
    from chartkit.network.downloads.lockfile import LOCK_FILE, VENDOR, read_lock

    folder = root / VENDOR
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [
        UpstreamLibrary(path.name, path, read_lock(path).files)
        for path in paths
        if (path / LOCK_FILE).is_file()
    ]


def upstream_library(root: Path) -> UpstreamLibrary:
    """Return the upstream policies of a project's own library."""
    from chartkit.library.upstream import UpstreamLibrary

    return UpstreamLibrary(library_name(root), root)


def library_name(root: Path) -> str:
    """Return a library's name: the name of its folder, or the built-in library's own."""
    return bundled.LIBRARY if root == bundled.library_dir() else root.resolve().name


def read_library(
    folders: Sequence[Path],
    named_at: Mapping[Path, Location] | None = None,
    upstream: Sequence[UpstreamLibrary] = (),
) -> Library:
    """Every policy below the folders; raises InputError, also for two policies of one reference.
    named_at: where a project file names the folders."""
    by_name: dict[str, FolderPolicy] = {}
    for root in folders:
        for policy in _policies(root, (named_at or {}).get(root, Location(str(root)))):
            other = by_name.get(policy.qualified)
            if other is not None:
                raise InputError(
                    f"there are two policies '{policy.reference}'",
                    Location(str(policy.folder)),
                    f"the other is {other.folder}; rename one of them",
                )
            by_name[policy.qualified] = policy
    ordered = sorted(by_name.values(), key=lambda policy: policy.reference)
    policies = {policy.qualified: policy for policy in ordered}
    return Library(MappingProxyType(policies), tuple(upstream))


def _policies(root: Path, location: Location) -> Iterator[FolderPolicy]:
    if not root.is_dir():
        hint = "make the folder, or take it out of the list"
        raise InputError(f"there is no policy library '{root}'", location, hint)
    shared = read_shared_parameters(root)
    own = [path.parent for path in sorted(root.rglob(POLICY_FILE))]
    folders = [folder for folder in own if not _is_plain(root, folder)]
    if root in folders:
        hint = f"move {POLICY_FILE} and {METADATA_FILE} into a folder that is named as the policy"
        raise InputError("a policy needs a folder of its own", Location(str(root)), hint)
    if not folders and not upstream_library(root).references:
        hint = f"a policy is a folder with {POLICY_FILE} and {METADATA_FILE}"
        raise InputError(f"the policy library '{root}' is empty", location, hint)
    library = library_name(root)
    for folder in folders:
        yield read_policy(folder, folder.parent.relative_to(root).as_posix(), shared, library)


def _is_plain(root: Path, folder: Path) -> bool:
    """Report whether a policy.yaml without metadata.yaml is a policy for Kyverno."""
    if (folder / METADATA_FILE).is_file():
        return False
    name = folder.relative_to(root).as_posix()
    with contextlib.suppress(InputError):
        return bool(upstream_library(root).below("" if name == "." else name))
    return False


def read_policy(
    folder: Path,
    group: str = "",
    shared: Mapping[str, Parameter] | None = None,
    library: str = "",
    is_whole: bool = True,
) -> FolderPolicy:
    """One policy folder; shared: the library's shared parameters by name; library: its name;
    is_whole: False for a built-in one, which needs no check, without its examples. Raises
    InputError."""
    document = _one_document(folder / METADATA_FILE)
    if is_whole:
        json_schema.require(document, json_schema.load(METADATA_SCHEMA))
    body = document.body
    minimum = body["minimumKyverno"]
    group = "" if group == "." else group
    return FolderPolicy(
        name=folder.name,
        reference=f"{group}/{folder.name}".lstrip("/"),
        group=group,
        folder=folder,
        title=body["title"],
        category=body["category"],
        severity=body["severity"],
        subject=tuple(body["subject"]),
        description=body["description"],
        minimum_kyverno=parse_version(minimum, "Kyverno", document.locate("minimumKyverno")),
        control=Control(**body["control"]),
        parameters=MappingProxyType(_parameters(document, shared or {})),
        examples=tuple(_examples(folder)) if is_whole else (),
        template=_source(folder / POLICY_FILE),
        cel=_source(folder / CEL_FILE) if (folder / CEL_FILE).is_file() else None,
        messages=MappingProxyType(body.get("messages", {})),
        remediation=body.get("remediation", ""),
        counterpart=tuple(body.get("counterpart", ())),
        library=library,
    )


def _source(file: Path) -> Source:
    return Source(str(file), read_source(file))


def _parameters(document: Document, shared: Mapping[str, Parameter]) -> dict[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    for position, name in enumerate(document.body.get("sharedParameters", [])):
        if name not in shared:
            location = document.locate("sharedParameters", position)
            hint = suggestion(name, shared) or f"define it in {PARAMETERS_FILE}"
            raise InputError(f"there is no shared parameter '{name}'", location, hint)
        parameters[name] = shared[name]
    own = document.body.get("parameters", {})
    return parameters | {name: Parameter(name, body) for name, body in own.items()}


def read_shared_parameters(root: Path, is_whole: bool = True) -> dict[str, Parameter]:
    """Return what all policies of a library may have as parameters, by name; is_whole: False for
    the built-in library, which needs no check. Raises InputError."""
    file = root / PARAMETERS_FILE
    if not file.is_file():
        return {}
    document = _one_document(file)
    if is_whole:
        definitions = json_schema.load(METADATA_SCHEMA)["$defs"]
        json_schema.require(document, {"$ref": "#/$defs/parameters", "$defs": definitions})
    return {name: Parameter(name, body, shared=True) for name, body in document.body.items()}


def _examples(folder: Path) -> Iterable[Examples]:
    yield Examples("", {}, _present(folder / GOOD_FILE), _present(folder / BAD_FILE))
    cases = folder / CASES_FOLDER
    for case in sorted(cases.iterdir()) if cases.is_dir() else ():
        parameters = _one_document(case / PARAMETERS_FILE).body
        if not isinstance(parameters, dict):
            raise InputError("parameters must be a mapping", Location(str(case / PARAMETERS_FILE)))
        good, bad = _present(case / GOOD_FILE), _present(case / BAD_FILE)
        yield Examples(case.name, MappingProxyType(parameters), good, bad)


def _present(file: Path) -> Path | None:
    return file if file.is_file() else None


def _one_document(file: Path) -> Document:
    documents = read_file(file)
    if len(documents) != 1:
        raise InputError(f"{len(documents)} documents where one is wanted", Location(str(file)))
    json_schema.require_single_keys(documents[0])
    return documents[0]
