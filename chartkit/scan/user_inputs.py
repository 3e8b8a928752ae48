"""The user's settings for requests, from files: values, variables, user info and exceptions.

What answers for a cluster is imported for policies that look at more than their object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.reader import (
    Document,
    Source,
    empty_document,
    read_file,
    read_source,
    read_text,
)
from chartkit.engine import (
    OFFLINE,
    PolicyAttachments,
    RunnablePolicy,
    User,
    World,
    as_submitted,
)
from chartkit.engine import read_exceptions as exceptions_of
from chartkit.engine.cli_files.admissions import NO_CONTEXT, NO_VALUES, UserContext, UserValues
from chartkit.engine.kubernetes.kinds import UNKNOWN, VERSIONS, CustomNames
from chartkit.engine.policies import EXCEPTION
from chartkit.engine.ports import UNASKED, Registries, ServiceSource, SignatureSource
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.scan.inputs import Note, existing, is_remote

if TYPE_CHECKING:
    from chartkit.engine.context.global_context import GlobalContextEntry

CLI_GROUP: Final = "cli.kyverno.io/"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """Options for asking registries about images. All but `asks_registries` need that one."""

    asks_registries: bool
    registry_mirrors: tuple[str, ...]
    registry_authorities: Path | None
    registry_plain: tuple[str, ...]
    registry_cache: Path | None
    trusted_root: Path | None


_REFINING: Final[Mapping[str, Callable[[RegistryOptions], object]]] = {
    "--registry-mirror": lambda options: options.registry_mirrors,
    "--registry-ca": lambda options: options.registry_authorities,
    "--registry-plain-http": lambda options: options.registry_plain,
    "--registry-cache": lambda options: options.registry_cache,
    "--trusted-root": lambda options: options.trusted_root,
}


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
        from chartkit.scan.remote import RemotePaths

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


@dataclass(frozen=True, slots=True)
class UserInputs:
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
        found: Sequence[Resource],
        custom: CustomNames = UNKNOWN,
    ) -> World:
        """Return the world that policies see: the scanned objects and the user's values; custom:
        the names of the kinds that have definitions."""
        if self.is_isolated(policies):
            return OFFLINE
        from chartkit.engine.cli_files.world import UserGlobalContext, partial_api
        from chartkit.network.cluster.cleaning import ScannedSecrets
        from chartkit.network.verifiers import blob_verifier

        bodies = [
            *self.context.resources,
            *(as_submitted(resource, custom=custom).body for resource in found),
        ]
        keys = ScannedSecrets(bodies)
        self.signatures.learn(keys)
        if self.registry is not None:
            self.registry.learn(bodies)
        blobs = blob_verifier(keys, self.signatures)
        world = replace(self.given, api=partial_api(bodies, custom), blobs=blobs)
        entries = UserGlobalContext(entries=_context_entries(found), world=world)
        return replace(world, global_context=entries)


def _context_entries(found: Sequence[Resource]) -> list[GlobalContextEntry]:
    """Return the GlobalContextEntries among objects; raise CompileError for an invalid one."""
    from chartkit.engine.context.global_context import (
        is_global_context_entry,
        read_global_context_entry,
    )

    return [read_global_context_entry(one) for one in found if is_global_context_entry(one)]


def read_user_inputs(
    values: Sequence[Path | Document],
    settings: Sequence[str],
    user_info: Path | None,
    context: Path | None = None,
) -> UserInputs:
    """Read the files that the user names; raise InputError.

    values: files, or what was read already, of kind Values (cli.kyverno.io) give variables and
    namespace labels, all others are values files of charts; settings: `name=value`.
    """
    if not (values or settings or user_info or context):
        return UserInputs()
    from chartkit.engine.cli_files.user_files import (
        read_context,
        read_settings,
        read_user_info,
        read_values,
    )

    charts: list[Path | Document] = []
    kyverno: list[Document] = []
    for given_values in values:
        document = _kyverno_values(given_values)
        if document is None:
            charts.append(given_values)
        else:
            kyverno.append(document)
    if len(kyverno) > 1:
        raise InputError("is a second file of Kyverno's values", kyverno[1].location, "merge them")
    given = read_settings([part for text in settings for part in text.split(",")])
    if len(given) < len(settings):
        raise InputError("--set takes NAME=VALUE, for names outside request.object")
    read = NO_VALUES
    if kyverno or given:
        body, location = (
            (kyverno[0].body, kyverno[0].location) if kyverno else (None, Location("--set"))
        )
        read = read_values(body, location, given)
    user, objects = None, NO_CONTEXT
    if user_info is not None:
        document = _document(user_info)
        user = read_user_info(document.body, document.location)
    if context is not None:
        objects = read_context(_document(context))
    return UserInputs(read, tuple(charts), user, objects)


def _kyverno_values(values: Path | Document) -> Document | None:
    documents = [values] if isinstance(values, Document) else read_file(values)
    for document in documents:
        body = document.body
        version = body.get("apiVersion") if isinstance(body, dict) else None
        if isinstance(version, str) and version.startswith(CLI_GROUP):
            return document
    return None


def _document(path: Path) -> Document:
    """Return the first document of a file; raise InputError for an empty one."""
    documents = read_file(path)
    if not documents:
        raise InputError("is empty", Location(str(path)))
    return documents[0]


def read_exceptions(
    paths: Sequence[Path], note: Note, named: Callable[[Resource], Resource] = lambda one: one
) -> PolicyAttachments:
    """Return the PolicyExceptions of files and folders; raise InputError for a path without any,
    and CompileError for one that Kyverno refuses. note: called with a row for each file of a folder
    that cannot be read; named: gives an exception the location of messages."""
    return exceptions_of(exception_objects(paths, note, named))


def exception_objects(
    paths: Sequence[Path], note: Note, named: Callable[[Resource], Resource] = lambda one: one
) -> list[Resource]:
    """Return the PolicyExceptions of files and folders as objects; raise InputError for a path
    without any."""
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
    """Load the user's settings for requests, with the registries and services that may be called;
    raise InputError."""
    inputs = read_user_inputs(
        [_values(text, options.network, note) for text in options.values],
        options.settings,
        options.userinfo,
        options.context_file,
    )
    inputs = _with_registries(inputs, options.registry)
    if not options.network.allowed_hosts:
        return inputs
    from chartkit.network.http.connections import read_hosts
    from chartkit.network.services import Services

    return replace(inputs, services=Services(read_hosts(options.network.allowed_hosts)))


def _values(text: str, network: NetworkOptions, note: Note) -> Path | Document:
    """Return a values file, or the document that a URL answers; raise InputError."""
    if not is_remote(text):
        return Path(text)
    from chartkit.scan.remote import RemotePaths
    from chartkit.schemas.json_schema import require_single_keys

    remote = RemotePaths(network.allowed_hosts, note)
    with remote.naming():
        [file] = remote.local([text])
        content = read_source(file)
    name = remote.name(file)
    documents = read_text(content, name)
    if len(documents) > 1:
        raise InputError("has more than one YAML document", documents[1].location, "a values file")
    document = documents[0] if documents else empty_document(Source(name, content))
    require_single_keys(document)
    return document


def _with_registries(inputs: UserInputs, options: RegistryOptions) -> UserInputs:
    if not options.asks_registries:
        for option, value in _REFINING.items():
            if value(options):
                message = f"{option} has no effect: registries are not asked"
                raise InputError(message, hint="add --registry")
        return inputs
    from chartkit.network.registry.images import Registries
    from chartkit.network.registry.settings import read_settings
    from chartkit.network.verifiers import image_verifier

    settings = read_settings(
        options.registry_mirrors,
        options.registry_plain,
        options.registry_authorities,
        options.registry_cache,
    )
    registries = Registries(settings)
    signatures = image_verifier(registries, options.trusted_root)
    return replace(inputs, registry=registries, signatures=signatures)
