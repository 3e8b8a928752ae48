"""The project file `chartkit.yaml`: environments, and what each of them gets.

The file's format is `schemas/project.schema.json`; whether the profiles, policies and parameters
that it names exist is for `chartkit.library.profiles` to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import semver

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.kyverno.releases import ReleaseData, read_versions
from chartkit.model import Body, Json, Location
from chartkit.project.environment import DEFAULTS, Environment, read_environments
from chartkit.project.settings import (
    Exclusion,
    PolicySettings,
    inherited,
    read_exclusions,
    read_policies,
    whole,
)
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

VERSION: Final = "chartVersion"
_COPIED: Final = ("home", "icon", "sources", "maintainers")
"""The keys of chartkit.yaml that are keys of Chart.yaml, too."""
FILE_NAME = "chartkit.yaml"
SCHEMA = "project.schema.json"


@dataclass(frozen=True, slots=True)
class ChartMetadata:
    """The metadata of the project's charts. version: of both charts, None for the version of
    Kyverno's own chart; fields: the fields of Chart.yaml that the project sets."""

    version: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict)


UPSTREAM: Final = ChartMetadata()
"""The metadata of charts of which the project says nothing."""


def read_metadata(document: Document) -> ChartMetadata:
    """The metadata that a project file gives; raises InputError for a version that Helm refuses."""
    body: Body = document.body
    version = body.get(VERSION)
    if version is not None and not semver.Version.is_valid(version):
        hint = f'a semantic version such as {VERSION}: "1.4.0"'
        raise InputError(f"'{version}' is not a chart version", document.locate(VERSION), hint)
    fields: Body = {key: body[key] for key in _COPIED if key in body}
    return ChartMetadata(version, MappingProxyType(fields))


@dataclass(frozen=True, slots=True)
class ExceptionRules:
    """The requirements of a project for its PolicyExceptions.

    annotations: names of annotations or labels that each must have, such as an owner's;
    longest_days: the days for which one may hold at most, None for any time; location: in the file.
    """

    annotations: tuple[str, ...]
    longest_days: int | None
    location: Location


@dataclass(frozen=True, slots=True)
class Project:
    """A project file.

    root: the folder it stands in, which its paths start from; library: folders with policies of
    the project's own; policies, exclude: settings of single policies by name, and exclusions for
    every policy, in all environments; charts: where charts are written; manifests: where rendered
    manifests are written (None: nowhere); environments: by name, in the file's order, in place of
    one with clusters its clusters (`prd/east`);
    defaults: settings of single policies under `defaults`; exception_rules: for its exceptions;
    versions: the releases that are known; metadata: of the charts.
    """

    file: Path
    root: Path
    library: tuple[Path, ...]
    policies: Mapping[str, PolicySettings]
    exclude: tuple[Exclusion, ...]
    charts: Path
    manifests: Path | None
    environments: Mapping[str, Environment]
    defaults: Mapping[str, PolicySettings]
    exception_rules: ExceptionRules
    versions: ReleaseData
    metadata: ChartMetadata
    document: Document = field(repr=False, compare=False)

    def environment(self, name: str) -> Environment:
        """Return an environment, or a cluster of one, by name; raise InputError for a name that is
        not there, and for an environment of several clusters."""
        environments = self.environments_of(name)
        if len(environments) == 1:
            return environments[0]
        hint = f"name one of its clusters: {', '.join(cluster.name for cluster in environments)}"
        raise InputError(
            f"environment '{name}' has {len(environments)} clusters",
            self.locate("environments", name),
            hint,
        )

    def environments_of(self, name: str) -> Sequence[Environment]:
        """Return an environment by name, or all its clusters; raise InputError for another name."""
        environment = self.environments.get(name)
        if environment is not None:
            return (environment,)
        clusters = tuple(cluster for cluster in self.environments.values() if cluster.group == name)
        if clusters:
            return clusters
        listed = ", ".join(self.environments)
        hint = suggestion(name, self.environments) or f"it has {listed}"
        location = self.document.locate("environments")
        raise InputError(f"there is no environment '{name}'", location, hint)

    def locate(self, *path: str | int) -> Location:
        """The place of a key in chartkit.yaml."""
        return self.document.locate(*path)


def read_project(path: Path) -> Project:
    """Read a project file; path: the file, or its folder. Raises InputError."""
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        hint = "`chartkit init` writes one" if file.name == FILE_NAME else None
        raise InputError("there is no project file", Location(str(file)), hint)
    documents = read_file(file)
    if len(documents) != 1:
        what = "is empty" if not documents else "has more than one YAML document"
        hint = "`chartkit init` in an empty folder writes an example"
        raise InputError(what, Location(str(file)), hint)
    return parse_project(documents[0], file)


def parse_project(document: Document, file: Path) -> Project:
    """The project in a document; file: where it stands. Raises InputError for the first mistake."""
    json_schema.require_single_keys(document)
    json_schema.require(document, json_schema.load(SCHEMA))
    body = document.body
    root = file.parent
    versions = read_versions(document, root)
    charts, manifests = body.get("charts", "charts"), body.get("manifests", "rendered")
    if manifests is not None and (root / charts).resolve() == (root / manifests).resolve():
        hint = "an environment could have a chart's name: choose another folder"
        message = "'manifests' and 'charts' are one folder"
        raise InputError(message, document.locate("manifests"), hint)
    keys = whole(document)
    return Project(
        file=file,
        root=root,
        library=tuple(root / folder for folder in body.get("library", ())),
        policies=read_policies(keys),
        exclude=read_exclusions(keys),
        charts=root / charts,
        manifests=None if manifests is None else root / manifests,
        environments=MappingProxyType(
            {
                name: replace(environment, versions=versions)
                for name, environment in read_environments(document, root).items()
            }
        ),
        defaults=read_policies(inherited(document, [(DEFAULTS,)])) if DEFAULTS in body else {},
        exception_rules=_exception_rules(document),
        versions=versions,
        metadata=read_metadata(document),
        document=document,
    )


def _exception_rules(document: Document) -> ExceptionRules:
    body = document.body.get("exceptionRules", {})
    return ExceptionRules(
        tuple(body.get("annotations", ())), body.get("maxDays"), document.locate("exceptionRules")
    )
