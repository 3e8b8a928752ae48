"""The policy library: a folder a policy, read into `LibraryPolicy`.

`<folder>/<category>/<name>/` holds `policy.yaml` (a template, see `chartkit.chart.parameters`), as
a rule its second form `cel.yaml` (a template too, of a kind of policies.kyverno.io/v1),
`metadata.yaml` (format: `schemas/policy.schema.json`), `good.yaml` and `bad.yaml` (resources that
must pass and must fail, in both forms), and `cases/<case>/` with `parameters.yaml` and its own
`good.yaml`, `bad.yaml` or both, where other parameter values are to be shown.
`<folder>/parameters.yaml` holds the parameters that several policies share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from chartkit.chart import schema
from chartkit.chart.versions import Version, parse_version
from chartkit.documents import Document, Source, read_file, read_source
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location

POLICY_FILE = "policy.yaml"
CEL_FILE = "cel.yaml"
METADATA_FILE = "metadata.yaml"
PARAMETERS_FILE = "parameters.yaml"
GOOD_FILE = "good.yaml"
BAD_FILE = "bad.yaml"
CASES_FOLDER = "cases"
METADATA_SCHEMA = "policy.schema.json"


@dataclass(frozen=True, slots=True)
class Control:
    """What a policy implements: a control of a standard or guide, and where it is written."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that people set.

    schema: its JSON Schema, `description` and `default` among it; shared: whether one value goes
    to every policy that has it.
    """

    name: str
    schema: Body
    shared: bool = False

    @property
    def default(self) -> Json:
        """The value where nobody gives one."""
        return self.schema["default"]

    @property
    def type(self) -> str:
        """Its JSON type: string, integer, boolean or array."""
        return str(self.schema["type"])


@dataclass(frozen=True, slots=True)
class Examples:
    """Resources that must come out as their file says, at these parameter values.

    name: empty for the policy's own `good.yaml` and `bad.yaml`; parameters: what differs from the
    defaults; good, bad: the files, None where a case has none.
    """

    name: str
    parameters: Mapping[str, Json]
    good: Path | None
    bad: Path | None


@dataclass(frozen=True, slots=True)
class LibraryPolicy:
    """One policy of the library, as its folder has it.

    group: the category's folder (`baseline`); category, severity, subject, description: what its
    annotations say; minimum_kyverno: the version that its ClusterPolicy claims to need; template:
    `policy.yaml`; cel: `cel.yaml`, None where the policy has no such form; remediation: what the
    owner of a refused object changes; counterpart: policies that mend, generate or guard what this
    one refuses, by name or reference.
    """

    name: str
    group: str
    folder: Path
    title: str
    category: str
    severity: str
    subject: tuple[str, ...]
    description: str
    minimum_kyverno: Version
    control: Control
    parameters: Mapping[str, Parameter]
    examples: tuple[Examples, ...]
    template: Source = field(repr=False)
    cel: Source | None = field(default=None, repr=False)
    remediation: str = ""
    counterpart: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """How profiles name it: `baseline/disallow-privileged-containers`."""
        return f"{self.group}/{self.name}" if self.group else self.name

    @property
    def defaults(self) -> dict[str, Json]:
        """Every parameter's default value."""
        return {name: parameter.default for name, parameter in self.parameters.items()}


@dataclass(frozen=True, slots=True)
class Library:
    """Policies by name, in the order of their references."""

    policies: Mapping[str, LibraryPolicy]

    def find(self, reference: str, location: Location | None = None) -> LibraryPolicy:
        """The policy of a reference, `category/name` or `name`; raises InputError if unknown."""
        found = self.policies.get(reference.rpartition("/")[2])
        if found is None or reference not in (found.name, found.reference):
            known = [policy.reference for policy in self.policies.values()]
            hint = schema.suggestion(reference, [*known, *self.policies])
            raise InputError(f"there is no policy '{reference}'", location, hint)
        return found


def read_library(
    folders: Sequence[Path], named_at: Mapping[Path, Location] | None = None
) -> Library:
    """Every policy below the folders; raises InputError, also for two policies of one name.

    named_at: where a project file names the folders.
    """
    found: dict[str, LibraryPolicy] = {}
    for root in folders:
        for policy in _policies(root, (named_at or {}).get(root, Location(str(root)))):
            other = found.get(policy.name)
            if other is not None:
                raise InputError(
                    f"there are two policies '{policy.name}'",
                    Location(str(policy.folder)),
                    f"the other is {other.folder}; rename one of them",
                )
            found[policy.name] = policy
    ordered = sorted(found.values(), key=lambda policy: policy.reference)
    return Library(MappingProxyType({policy.name: policy for policy in ordered}))


def _policies(root: Path, place: Location) -> Iterator[LibraryPolicy]:
    if not root.is_dir():
        hint = "make the folder, or take it out of the list"
        raise InputError(f"there is no policy library '{root}'", place, hint)
    shared = _shared_parameters(root)
    folders = sorted(path.parent for path in root.rglob(POLICY_FILE))
    if not folders:
        hint = f"a policy is a folder with {POLICY_FILE} and {METADATA_FILE}"
        raise InputError(f"the policy library '{root}' is empty", place, hint)
    for folder in folders:
        yield read_policy(folder, folder.parent.relative_to(root).as_posix(), shared)


def read_policy(
    folder: Path, group: str = "", shared: Mapping[str, Parameter] | None = None
) -> LibraryPolicy:
    """One policy folder; shared: the library's shared parameters by name. Raises InputError."""
    document = _one_document(folder / METADATA_FILE)
    schema.require(document, schema.load(METADATA_SCHEMA))
    body = document.body
    minimum = body["minimumKyverno"]
    return LibraryPolicy(
        name=folder.name,
        group="" if group == "." else group,
        folder=folder,
        title=body["title"],
        category=body["category"],
        severity=body["severity"],
        subject=tuple(body["subject"]),
        description=body["description"],
        minimum_kyverno=parse_version(minimum, "Kyverno", document.locate("minimumKyverno")),
        control=Control(**body["control"]),
        parameters=MappingProxyType(_parameters(document, shared or {})),
        examples=tuple(_examples(folder)),
        template=_source(folder / POLICY_FILE),
        cel=_source(folder / CEL_FILE) if (folder / CEL_FILE).is_file() else None,
        remediation=body.get("remediation", ""),
        counterpart=tuple(body.get("counterpart", ())),
    )


def _source(file: Path) -> Source:
    return Source(str(file), read_source(file))


def _parameters(document: Document, shared: Mapping[str, Parameter]) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for position, name in enumerate(document.body.get("sharedParameters", [])):
        if name not in shared:
            place = document.locate("sharedParameters", position)
            hint = schema.suggestion(name, shared) or f"define it in {PARAMETERS_FILE}"
            raise InputError(f"there is no shared parameter '{name}'", place, hint)
        found[name] = shared[name]
    own = document.body.get("parameters", {})
    return found | {name: Parameter(name, body) for name, body in own.items()}


def _shared_parameters(root: Path) -> dict[str, Parameter]:
    file = root / PARAMETERS_FILE
    if not file.is_file():
        return {}
    document = _one_document(file)
    definitions = schema.load(METADATA_SCHEMA)["$defs"]
    schema.require(document, {"$ref": "#/$defs/parameters", "$defs": definitions})
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
    return documents[0]
