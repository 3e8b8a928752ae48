"""Policies and objects of a server, from files or a cluster, read again when they change."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from chartkit.addons.serve.admission.review import RoleBindings, is_role_binding
from chartkit.addons.serve.admission.selection import admits
from chartkit.addons.serve.admission.served_policies import Served
from chartkit.documents.input_files import file_state
from chartkit.documents.unread import strict
from chartkit.engine import Phase, World, is_exception, is_policy
from chartkit.engine.context.global_context import is_global_context_entry
from chartkit.engine.kubernetes.kinds import in_namespace, is_binding
from chartkit.errors import CompileError, InputError
from chartkit.model import Diagnostic, Resource
from chartkit.network.cluster.reader import (
    NAMESPACES,
    ApiResource,
    Discovery,
    Reader,
    policies_there,
    sample,
)
from chartkit.scan.cluster import Survey, answers
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import is_remote
from chartkit.scan.installed import InstalledPolicies, installed_environment
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import RequestOptions, Requests, load_requests, load_surroundings

if TYPE_CHECKING:
    from chartkit.network.cluster.live import Watches


def served(
    requests: Requests,
    world: Callable[[], World],
    environment: ProjectEnvironment | None = None,
    notes: Sequence[Diagnostic] = (),
    bindings: Iterable[Resource] = (),
) -> Served:
    """Return what a server judges with. world: gives what policies see; environment: whose
    configuration keeps objects away from policies; bindings: of roles, besides those among the
    objects."""
    policies = requests.policies
    admissions = requests.context(world()).admissions(policies.policies)
    labels = requests.namespaces

    def is_filtered(resource: Resource, subresource: str) -> bool:
        if environment is None:
            return False
        given, config = in_namespace(resource, custom=requests.names), environment.configuration
        return any(config.unsent(given, labels.get(given.namespace), subresource))

    return Served(
        policies.policies,
        admissions.request,
        world,
        RoleBindings([*requests.objects, *bindings]),
        None if environment is None else is_filtered,
        requests.facts(),
        requests.names,
        (*map(str, notes), *_not_carried_out(policies)),
    )


def _not_carried_out(policies: PolicySet) -> Iterable[str]:
    """Yield a line for everything that policies do and a server does not."""
    for policy in policies.policies:
        if policy.runs_in_api_server:
            yield f"{policy.policy.id}: the API server evaluates it, and not this server"
        elif not admits(policy):
            yield f"{policy.policy.id}: not asked at admission"
        elif Phase.GENERATE in policy.phases:
            yield f"{policy.policy.id}: nothing is generated, and nothing that exists is mutated"
    for cleaner in policies.cleanup:
        yield f"{cleaner.resource.name}: nothing is deleted on a schedule"


Signature = Mapping[str, tuple[int, ...]]
"""The time, size and identity of each file."""


@dataclass
class FileSource:
    """Policies and objects of files; environment: returns the project's environment; None for the
    policies that the options name."""

    options: RequestOptions
    environment: Callable[[], ProjectEnvironment] | None = None
    _roots: tuple[Path, ...] = ()
    _seen: Signature = field(default_factory=dict)

    def load(self) -> Served:
        """Return the policies of the files; raise ChartkitError, also for a single policy that
        does not compile."""
        options = self.options
        environment = None if self.environment is None else self.environment()
        inputs, policies, user = options.inputs, options.policies, options.world
        given = (*policies.exceptions, *user.values)
        named = (*inputs.paths, *policies.named_policies, *inputs.crds, *given)
        own = environment.sources if environment is not None else ()
        self._roots = (
            *(Path(each) for each in named if not is_remote(each)),
            *filter(None, (user.userinfo, user.context_file)),
            *own,
        )
        self._seen = dict(_signature(self._roots))
        notes: list[Diagnostic] = []
        requests = load_requests(
            options,
            io.StringIO(),
            strict(notes.append),
            environment=environment,
            needs_objects=False,
        )
        if requests.policies.diagnostics:
            raise CompileError(requests.policies.diagnostics)
        if not requests.policies.policies:
            raise InputError("there is no policy to judge with", hint="-p names some")
        world = requests.world()
        return served(requests, lambda: world, environment, notes)

    def changed(self) -> bool:
        """Report whether a file is new, gone or another than when they were last looked at."""
        found = dict(_signature(self._roots))
        if found == self._seen:
            return False
        self._seen = found
        return True

    def close(self) -> None:
        """Do nothing: files are looked at when the server asks."""


def _signature(roots: tuple[Path, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for root in roots:
        if root.is_dir():
            for folder, _, names in os.walk(root, followlinks=True):
                for name in names:
                    file = os.path.join(folder, name)
                    yield file, file_state(file)
        else:
            yield str(root), file_state(root)


@dataclass
class ClusterPolicies:
    """The policies of a live cluster, or of a recording of one; options: for objects and settings
    besides."""

    options: RequestOptions
    source: ClusterSource
    _watches: Watches | None = None

    def load(self) -> Served:
        """Return the policies of the cluster; those that do not compile are left out and named.
        Raise ChartkitError where it does not answer."""
        source, namespace = answers(self.source)
        reader = Reader(source, namespace)
        if self._watches is None and self.source.recording is None:
            self._watches = self._watch(reader.discovery)
        notes: list[Diagnostic] = []
        survey = Survey(reader, load_surroundings(self.options, notes.append))
        environment = installed_environment("the cluster", survey, policies_there(reader))
        installed = InstalledPolicies(environment, survey, survey.diagnostics)
        notes += survey.diagnostics
        requests = load_requests(
            self.options,
            io.StringIO(),
            strict(notes.append),
            environment=environment,
            needs_objects=False,
        )
        requests = installed.completed(requests)
        bindings = list(_bindings(reader))
        world = self._world(installed, requests)

        unread = [f"not read: {what}: {reason}" for what, reason in reader.unread.items()]
        result = served(requests, world, environment, notes, bindings)
        return replace(result, notes=(*result.notes, *unread))

    def _world(self, installed: InstalledPolicies, requests: Requests) -> Callable[[], World]:
        """Return what gives the cluster as it is now, below the objects of files."""
        reader, survey = installed.survey.reader, installed.survey
        if requests.objects:
            installed.world(requests)

        def world() -> World:
            if reader.source.fault is not None:
                reader.source, _ = answers(self.source)
                if requests.objects:
                    return installed.world(requests)
            return survey.world(requests.inputs)

        return world

    def changed(self) -> bool:
        """Report whether policies, exceptions, namespaces or bindings changed in the cluster."""
        return self._watches is not None and self._watches.changed()

    def close(self) -> None:
        """End the watches."""
        if self._watches is not None:
            self._watches.close()
            self._watches = None

    def _watch(self, discovery: Discovery) -> Watches:
        from chartkit.network.cluster.client import connect
        from chartkit.network.cluster.live import Watches

        paths = [resource.path() for resource in _watched(discovery)]
        return Watches(connect(self.source.context), paths)


def _watched(discovery: Discovery) -> Iterator[ApiResource]:
    """Yield the resources whose objects decide verdicts, each in one version."""
    known: set[tuple[str, str]] = set()
    for served_kind in discovery.all:
        group, _, kind = served_kind.kind
        resource = Resource(sample(served_kind))
        decides = (
            is_policy(resource)
            or is_binding(resource)
            or is_exception(resource)
            or is_global_context_entry(resource)
            or is_role_binding(resource)
            or served_kind.kind == NAMESPACES.kind
        )
        if decides and (group, kind) not in known:
            known.add((group, kind))
            yield served_kind


def _bindings(reader: Reader) -> Iterator[Resource]:
    for resource in reader.discovery.all:
        if is_role_binding(Resource(sample(resource))):
            yield from reader.everywhere(resource)
