"""The user's settings for requests, from files: values, variables, user info and exceptions.

What answers for a cluster is imported for policies that look at more than their object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.reader import Document, read_file
from chartkit.documents.unread import require_read
from chartkit.engine import (
    OFFLINE,
    PolicyAttachments,
    RunnablePolicy,
    User,
    World,
    as_submitted,
)
from chartkit.engine import read_exceptions as exceptions_of
from chartkit.engine.cli_files.user_files import (
    NO_CONTEXT,
    NO_VALUES,
    UserContext,
    UserValues,
    read_context,
    read_settings,
    read_user_info,
    read_values,
)
from chartkit.engine.cluster_policy.exceptions import API_VERSIONS
from chartkit.engine.kubernetes.kinds import UNKNOWN, VERSIONS, CustomNames
from chartkit.engine.policies import EXCEPTION
from chartkit.engine.ports import UNASKED, Registries, ServiceSource, SignatureSource
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Resource
from chartkit.scan.exceptions.files import exceptions_below
from chartkit.scan.inputs import Note, existing

if TYPE_CHECKING:
    from chartkit.engine.context.global_context import GlobalContextEntry

CLI_GROUP: Final = "cli.kyverno.io/"


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
        """Return whether policies see the object alone that they judge."""
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
            *(as_submitted(one, custom=custom).body for one in found),
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
        body, place = (
            (kyverno[0].body, kyverno[0].location) if kyverno else (None, Location("--set"))
        )
        read = read_values(body, place, given)
    return UserInputs(read, tuple(charts), _user(user_info), _context(context))


def _kyverno_values(values: Path | Document) -> Document | None:
    documents = [values] if isinstance(values, Document) else read_file(values)
    for document in documents:
        body = document.body
        version = body.get("apiVersion") if isinstance(body, dict) else None
        if isinstance(version, str) and version.startswith(CLI_GROUP):
            return document
    return None


def _context(path: Path | None) -> UserContext:
    if path is None:
        return NO_CONTEXT
    documents = read_file(path)
    if not documents:
        raise InputError("is empty", Location(str(path)))
    return read_context(documents[0])


def _user(path: Path | None) -> User | None:
    if path is None:
        return None
    documents = read_file(path)
    if not documents:
        raise InputError("is empty", Location(str(path)))
    return read_user_info(documents[0].body, documents[0].location)


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
    found: list[Resource] = []
    for path in paths:
        rows: list[Diagnostic] = []
        here = list(exceptions_below(existing(path), rows.append))
        if not here:
            require_read(rows)
            hint = f"write {EXCEPTION} in {', '.join(API_VERSIONS)} or {VERSIONS[0]}"
            raise InputError("holds no PolicyException", Location(str(path)), hint)
        found.extend(map(named, here))
        for row in rows:
            note(row)
    return found
