"""The user's settings for requests, from files: values, variables, user info and exceptions.

What answers for a cluster is imported for policies that look at more than their object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

from chartkit.documents.reader import Document
from chartkit.engine import OFFLINE, PolicyAttachments, RunnablePolicy, User, World, as_submitted
from chartkit.engine import read_exceptions as exceptions_of
from chartkit.engine.cli_files.admissions import NO_CONTEXT, NO_VALUES, UserContext, UserValues
from chartkit.engine.kubernetes.kinds import UNKNOWN, VERSIONS, CustomNames
from chartkit.engine.policies import EXCEPTION
from chartkit.engine.ports.world import UNASKED, Registries, ServiceSource, SignatureSource
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.scan.inputs import Note, existing, is_remote


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """Options for asking registries about images. All but `asks_registries` need that one."""

    asks_registries: bool
    registry_mirrors: tuple[str, ...]
    registry_authorities: Path | None
    registry_plain: tuple[str, ...]
    registry_cache: Path | None
    trusted_root: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Options for URLs, and for the services that policies ask; allows_http: whether policies of a
    namespace may do so."""

    allowed_hosts: tuple[str, ...]
    allows_http: bool

    @contextmanager
    def local(
        self, paths: Sequence[str], note: Note
    ) -> Iterator[tuple[Sequence[str], Callable[[Resource], Resource], Note]]:
        """Give paths with what URLs hold in their place, with a function that gives objects the
        locations of messages, and one that takes notes; raise InputError."""
        if not any(map(is_remote, paths)):
            yield paths, lambda resource: resource, note
            return
        from chartkit.scan.inputs.remote import RemotePaths

        remote = RemotePaths(self.allowed_hosts, note)
        with remote.naming() as renaming:
            yield remote.local(paths), remote.resource, renaming


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldOptions:
    """Options that say what requests and policies find. values: as the user wrote them, URLs among
    them; settings: `NAME=VALUE`."""

    values: tuple[str, ...]
    settings: tuple[str, ...]
    userinfo: Path | None
    context_file: Path | None
    registry: RegistryOptions
    network: NetworkOptions


class UserInputs(NamedTuple):
    """values: variables of a Values file and of settings; chart_values: values files of charts;
    user: None if not given; context: objects and images that CEL policies may look up; registry:
    for all other images, None if not asked; signatures: the verifier of images; services: the
    caller of services, None if there is none."""

    values: UserValues = NO_VALUES
    chart_values: tuple[Path | Document, ...] = ()
    user: User | None = None
    context: UserContext = NO_CONTEXT
    registry: Registries | None = None
    signatures: SignatureSource = UNASKED
    services: ServiceSource | None = None

    @property
    def given(self) -> World:
        """The ports that files and options provide, without a cluster."""
        from chartkit.engine.cli_files.world import UserImages, UserMocks

        return World(
            services=self.services or OFFLINE.services,
            images=UserImages(self.context.images, self.registry),
            signatures=self.signatures,
            mocks=UserMocks(self.values, values_answer_calls=True),
        )

    @property
    def asks_others(self) -> bool:
        """True if other machines are asked: registries, or the services of policies."""
        return self.registry is not None or self.services is not None

    def is_isolated(self, policies: Sequence[RunnablePolicy]) -> bool:
        """Report whether policies see the object alone that they judge."""
        is_plain = self.values is NO_VALUES and not self.asks_others
        return is_plain and not any(policy.looks_around for policy in policies)

    def world(
        self,
        policies: Sequence[RunnablePolicy],
        objects: Sequence[Resource],
        custom: CustomNames = UNKNOWN,
    ) -> World:
        """Return the world that policies see: the scanned objects and the user's values; custom:
        the names of the kinds that have definitions."""
        if self.is_isolated(policies):
            return OFFLINE
        from chartkit.engine.cli_files.world import UserGlobalContext, partial_api
        from chartkit.network.cluster.cleaning import ScannedSecrets
        from chartkit.network.verifiers import blob_verifier
        from chartkit.scan.user_settings import context_entries

        bodies = [
            *self.context.resources,
            *(as_submitted(resource, custom=custom).body for resource in objects),
        ]
        keys = ScannedSecrets(bodies)
        self.signatures.learn(keys)
        if self.registry is not None:
            self.registry.learn(bodies)
        blobs = blob_verifier(keys, self.signatures)
        world = replace(self.given, api=partial_api(bodies, custom), blobs=blobs)
        entries = UserGlobalContext(entries=context_entries(objects), world=world)
        return replace(world, global_context=entries)


def read_exceptions(
    paths: Sequence[Path], note: Note, named: Callable[[Resource], Resource] = lambda r: r
) -> PolicyAttachments:
    """Return the PolicyExceptions of files and folders; raise InputError for a path without any,
    and CompileError for one that Kyverno refuses. note: called with a row for each file of a folder
    that cannot be read; named: gives an exception the location of messages."""
    return exceptions_of(exception_objects(paths, note, named))


def exception_objects(
    paths: Sequence[Path], note: Note, named: Callable[[Resource], Resource] = lambda r: r
) -> list[Resource]:
    """Return the PolicyExceptions of paths; raise InputError for a path without any."""
    resources: list[Resource] = []
    for path in paths:
        from chartkit.scan.exceptions.model import exceptions_at

        here = exceptions_at(existing(path), note)
        if not here:
            from chartkit.engine.cluster_policy.exceptions import API_VERSIONS

            hint = f"write {EXCEPTION} in {', '.join(API_VERSIONS)} or {VERSIONS[0]}"
            raise InputError("holds no PolicyException", Location(str(path)), hint)
        resources.extend(map(named, here))
    return resources


def load_user_inputs(options: WorldOptions, note: Note) -> UserInputs:
    """Load the user's settings for requests, with what may be called; raise InputError."""
    registry, hosts = options.registry, options.network.allowed_hosts
    given = (options.values, options.settings, options.userinfo, options.context_file, hosts)
    if not any(given) and not any(getattr(registry, field.name) for field in fields(registry)):
        return UserInputs()
    from chartkit.scan.user_settings import read_user_inputs, values_of, with_registries

    inputs = read_user_inputs(
        [values_of(text, options.network, note) for text in options.values],
        options.settings,
        options.userinfo,
        options.context_file,
    )
    inputs = with_registries(inputs, registry)
    if not hosts:
        return inputs
    from chartkit.network.http.connections import read_hosts
    from chartkit.network.services import Services

    return inputs._replace(services=Services(read_hosts(hosts)))
