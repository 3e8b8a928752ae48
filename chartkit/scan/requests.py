"""Policies, objects and user inputs of a scan, loaded from its options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from chartkit.documents.reader import parse_yaml
from chartkit.engine import PolicyAttachments, World
from chartkit.engine.kubernetes.field_faults import minor_of
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames, group_of
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Json, Resource
from chartkit.report import PolicyFacts
from chartkit.scan import DEFAULT_NAMESPACE
from chartkit.scan.gitops import RELEASE_GROUPS
from chartkit.scan.ineffective import ObjectFaults, overlooked
from chartkit.scan.inputs import (
    ChartOptions,
    Note,
    is_definition,
    is_remote,
    matching,
    read_crds,
    read_inputs,
)
from chartkit.scan.policies import PolicyOptions, PolicySet, load_policies
from chartkit.scan.run import Completion, ScanContext, namespace_labels, namespaces_among
from chartkit.scan.user_inputs import UserInputs, WorldOptions, load_user_inputs, read_exceptions

if TYPE_CHECKING:
    from chartkit.scan.changes import Changes
    from chartkit.scan.custom_resources.results import CustomResources
    from chartkit.scan.environment import ProjectEnvironment

_VARIABLE: Final = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """Options that say which objects are judged.

    paths: as the user wrote them, URLs among them; exclude: patterns of paths that are left out;
    crds: files, folders and charts with definitions of custom kinds; named_namespace: None if not
    given.
    """

    paths: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    crds: tuple[str, ...]
    named_namespace: str | None
    release: str
    kube_version: str | None
    api_defaults: bool

    @property
    def namespace(self) -> str:
        """The namespace that charts are rendered for."""
        return DEFAULT_NAMESPACE if self.named_namespace is None else self.named_namespace

    @property
    def only_namespace(self) -> str:
        """The only namespace of a cluster to read; empty for all."""
        return self.named_namespace or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Options that say which objects are put before which policies, and what these find."""

    inputs: InputOptions
    policies: PolicyOptions
    world: WorldOptions


class Requests(NamedTuple):
    """policies, objects: to evaluate; namespace_objects: the Namespaces, by name; inputs: the
    user's settings for requests; custom: the custom kinds that are defined among the objects, or
    where the user says, None if there is none; served: the names of those of a cluster."""

    policies: PolicySet
    objects: Sequence[Resource]
    namespace_objects: Mapping[str, Body]
    inputs: UserInputs
    custom: CustomResources | None = None
    served: CustomNames = UNKNOWN

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of the Namespaces, by name."""
        return namespace_labels(self.namespace_objects)

    @property
    def names(self) -> CustomNames:
        """The names of the custom kinds that have definitions, or that a cluster serves."""
        names = self.served.joined(self.policies.names)
        return names if self.custom is None else names.joined(self.custom.names)

    @classmethod
    def of(
        cls,
        policies: PolicySet,
        objects: Sequence[Resource],
        inputs: UserInputs | None = None,
        definitions: Sequence[Resource] = (),
        note: Note = lambda _: None,
    ) -> Requests:
        """Return policies and objects, whose Namespaces and definitions of custom kinds count.
        inputs: what the user says; definitions: further ones; note: called with their faults, and
        with what policies are refused for where these kinds are known."""
        custom = custom_resources(definitions, objects, note)
        if custom is not None:
            policies = policies.with_names(custom.names, note)
        return cls(policies, objects, namespaces_among(objects), inputs or UserInputs(), custom)

    def facts(self) -> Mapping[str, PolicyFacts]:
        """Return the facts of policies, and of definitions of custom kinds, for reports."""
        facts = self.policies.facts(self.namespaces)
        return facts if self.custom is None else {**facts, **self.custom.facts()}

    def world(self) -> World:
        """Return the world that policies see: the objects and the user's inputs."""
        return self.inputs.world(self.policies.policies, self.objects, self.names)

    def context(self, world: World) -> ScanContext:
        """Return the settings that the requests share."""
        return ScanContext(
            self.namespaces,
            self.namespace_objects,
            world,
            self.inputs.values,
            self.inputs.user,
            custom=self.names,
        )

    def completion(self, environment: ProjectEnvironment | None = None) -> Completion:
        """Return the completion of results; environment: the one whose policies judge, if any."""
        unsent = None
        if environment is not None:
            from chartkit.scan.environment import UnsentObjects

            unsent = UnsentObjects(environment, self.namespaces)
        by_id = {policy.policy.id: policy for policy in self.policies.policies}
        return Completion(unsent, self.custom, by_id)


def load_requests(
    options: RequestOptions,
    stdin: TextIO,
    note: Note,
    environment: ProjectEnvironment | None = None,
    needs_objects: bool = True,
) -> Requests:
    """Load policies, objects and user inputs, as `load_judges` and `read_requests` do;
    needs_objects: whether there is nothing to do without objects."""
    if needs_objects:
        require_paths(options.inputs)
    judges = load_judges(options, note, environment)
    return read_requests(judges, options, stdin, note, environment=environment, checks_custom=True)


def require_paths(options: InputOptions) -> None:
    """Raise InputError for options that name no path of objects."""
    if not options.paths:
        raise InputError("Missing argument 'PATH…'", hint="- is standard input")


class Judges(NamedTuple):
    """policies: that judge objects; inputs: the user's settings for requests."""

    policies: PolicySet
    inputs: UserInputs

    @property
    def identities(self) -> set[tuple[str, str, str]]:
        """The kinds, namespaces and names of the policies."""
        identities = {_identity(policy.policy.resource) for policy in self.policies.policies}
        return identities | {_identity(cleaner.resource) for cleaner in self.policies.cleanup}


def load_judges(
    options: RequestOptions, note: Note, environment: ProjectEnvironment | None
) -> Judges:
    """Load policies and user inputs; note is called with findings about single policies.
    environment: the one whose policies are loaded in place of those that the options name. Raise
    InputError."""
    inputs = load_user_inputs(options.world, note)
    around = load_surroundings(options, note)
    if environment is None:
        policies = load_named_policies(options, around)
    else:
        policies = environment.policies(around)
    for diagnostic in (*policies.diagnostics, *policies.remarks):
        note(diagnostic)
    return Judges(policies, inputs)


def kube_version(options: RequestOptions, environment: ProjectEnvironment | None) -> str | None:
    """Return the version of Kubernetes that objects are for, None for any; raise InputError for an
    option that names none."""
    if given := options.inputs.kube_version:
        from chartkit.kyverno.versions import parse_version

        parse_version(given, "Kubernetes")
        return given
    return environment.kube_version if environment else None


def read_requests(
    judges: Judges,
    options: RequestOptions,
    stdin: TextIO,
    note: Note,
    is_json: bool = False,
    environment: ProjectEnvironment | None = None,
    changes: Changes | None = None,
    checks_custom: bool = False,
) -> Requests:
    """Read the objects that policies judge.

    is_json: whether the inputs are any JSON, for policies of evaluation mode JSON; changes: those
    without which files need not be read; checks_custom: whether unknown fields of custom resources
    are noted, which no result names. Raise InputError.
    """
    policies, inputs, given = judges.policies, judges.inputs, options.inputs
    if is_json:
        from chartkit.scan.inputs.payloads import read_payloads

        if options.inputs.api_defaults:
            raise InputError("--api-defaults is about Kubernetes objects, and --json about none")
        with options.world.network.local(options.inputs.paths, note) as (paths, named, noting):
            payloads = list(map(named, read_payloads(paths, stdin, noting)))
        return Requests(policies, payloads, {}, inputs)
    _require_variables(options, policies)
    chart = ChartOptions(
        values=inputs.chart_values,
        release=given.release,
        namespace=given.namespace,
        kube_version=kube_version(options, environment),
        api_versions=environment.api_versions if environment else (),
    )
    if changes is not None:
        changes.decide(policies.policies)
    reads = None if changes is None or changes.reason else changes.reads
    with options.world.network.local(options.inputs.paths, note) as (paths, named, noting):
        exclude = options.inputs.exclude
        objects = list(map(named, objects_at(paths, stdin, noting, chart, reads, exclude)))
    honours = bool(options.policies.exceptions) or environment is not None
    for diagnostic in overlooked(objects, honours, judges.identities):
        note(diagnostic)
    given_objects = objects
    if given.api_defaults:
        from chartkit.scan.api_defaults import all_as_stored

        objects = all_as_stored(objects)
    requests = Requests.of(policies, objects, inputs, read_definitions(options, note), note)
    custom = requests.custom
    checked = custom.definitions if custom is not None and checks_custom else None
    faults = ObjectFaults(minor_of(chart.kube_version), checked)
    faults.add(given_objects)
    for diagnostic in faults.diagnostics():
        note(diagnostic)
    return requests


def _require_variables(options: RequestOptions, policies: PolicySet) -> None:
    """Raise InputError for a setting that is not a variable of a policy where a chart is scanned:
    it is meant as Helm's `--set`."""
    settings = options.world.settings
    if not settings:
        return
    from chartkit.scan.inputs.folders import has_chart

    own = [path for path in options.inputs.paths if not is_remote(path)]
    if not any(map(has_chart, matching(own))):
        return
    bodies = json.dumps([policy.policy.resource.body for policy in policies.policies], default=str)
    used = " ".join(_VARIABLE.findall(bodies))
    for part in (part for setting in settings for part in setting.split(",")):
        name = part.partition("=")[0]
        start = re.escape(".".join(name.strip().split(".")[:2]))
        if not name.startswith("request.") and not re.search(rf"(?<![.\w]){start}\b", used):
            hint = "values of a chart come with -f FILE (-f /dev/stdin takes them from a pipe)"
            raise InputError(f"--set {name}: no policy has this variable", hint=hint)


def _identity(resource: Resource) -> tuple[str, str, str]:
    return resource.kind, resource.namespace, resource.name


def objects_at(
    paths: Sequence[str],
    stdin: TextIO,
    note: Note,
    chart: ChartOptions,
    reads: Callable[[Path], bool] | None = None,
    exclude: Sequence[str] = (),
) -> list[Resource]:
    """Return the objects at paths, as `read_inputs` does, and those of the releases that they
    declare; note is called once with each row."""
    noted: set[Diagnostic] = set()

    def note_once(row: Diagnostic) -> None:
        if row not in noted:
            noted.add(row)
            note(row)

    objects = read_inputs(paths, stdin, note_once, chart, reads, exclude)
    if any(group_of(resource) in RELEASE_GROUPS for resource in objects):
        from chartkit.scan.gitops.releases import release_objects

        objects += release_objects(objects, paths, chart, note_once)
    return objects


def read_definitions(options: RequestOptions, note: Note) -> list[Resource]:
    """Return the definitions of custom kinds that the user names; raise InputError."""
    with options.world.network.local(options.inputs.crds, note) as (crds, named, noting):
        return list(map(named, read_crds(crds, noting)))


def custom_resources(
    own: Sequence[Resource], objects: Sequence[Resource], note: Note
) -> CustomResources | None:
    """The custom kinds that the user's definitions and objects define, None if there is none; note
    is called with faults of definitions, and with kinds that have none if the user has any."""
    if not own and not any(map(is_definition, objects)):
        return None
    from chartkit.scan.custom_resources import definitions
    from chartkit.scan.custom_resources.results import CustomResources

    # Objects of a version that no API server serves have a row about it already.
    served = (item for item in objects if not definitions.is_outdated(item))
    resources = CustomResources(definitions.read_definitions([*own, *served]))
    for fault in (*resources.definitions.faults, *(resources.undefined(objects) if own else ())):
        note(fault)
    return resources if resources.definitions.kinds else None


def load_named_policies(options: RequestOptions, surroundings: PolicyAttachments) -> PolicySet:
    """Load the policies that the options name, also by URLs; raise InputError."""
    parameters: dict[str, Json] = {}
    for text in options.policies.parameters:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--param '{text}' is not NAME=VALUE")
        parameters[name] = parse_yaml(value)
    notes: list[Diagnostic] = []
    names = options.policies.policies
    with options.world.network.local(names, notes.append) as (policies, named, _):
        policy_set = load_policies(
            policies, parameters, surroundings, options.policies.policy_type, named=named
        )
    return replace(policy_set, notes=(*notes, *policy_set.notes)) if notes else policy_set


def load_surroundings(options: RequestOptions, note: Note) -> PolicyAttachments:
    """Load exceptions and settings for policies; raise InputError and CompileError."""
    network = options.world.network
    with network.local(options.policies.exceptions, note) as (paths, named, noting):
        surroundings = read_exceptions([Path(path) for path in paths], noting, named)
    return replace(surroundings, allows_http=network.allows_http)
