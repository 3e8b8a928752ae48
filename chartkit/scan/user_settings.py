"""The files, values and registries that a user names for the requests of a scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from chartkit.engine.cli_files.admissions import NO_CONTEXT, NO_VALUES
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.scan.inputs import Note, is_remote
from chartkit.scan.user_inputs import NetworkOptions, RegistryOptions, UserInputs

if TYPE_CHECKING:
    from chartkit.engine.context.global_context import GlobalContextEntry

CLI_GROUP: Final = "cli.kyverno.io/"


_REFINING: Final[Mapping[str, Callable[[RegistryOptions], object]]] = {
    "--registry-mirror": lambda options: options.registry_mirrors,
    "--registry-ca": lambda options: options.registry_authorities,
    "--registry-plain-http": lambda options: options.registry_plain,
    "--registry-cache": lambda options: options.registry_cache,
    "--trusted-root": lambda options: options.trusted_root,
}


def read_user_inputs(
    values: Sequence[Path | Document],
    settings: Sequence[str],
    user_info: Path | None,
    context: Path | None = None,
) -> UserInputs:
    """Read the files that the user names; raise InputError. values: files, or what was read
    already, of kind Values (cli.kyverno.io) give variables and namespace labels, all others are
    values files of charts; settings: `name=value`."""
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


def values_of(text: str, network: NetworkOptions, note: Note) -> Path | Document:
    """Return a values file, or the document that a URL answers; raise InputError."""
    if not is_remote(text):
        return Path(text)
    from chartkit.scan.inputs.remote import RemotePaths
    from chartkit.schemas.json_schema import require_single_keys

    remote = RemotePaths(network.allowed_hosts, note)
    with remote.naming():
        [file] = remote.local([text])
        content = read_source(file)
    name = remote.name(file)
    documents = read_text(content, name)
    if len(documents) > 1:
        raise InputError("has more than one YAML document", documents[1].location, "keep one")
    document = documents[0] if documents else empty_document(Source(name, content))
    require_single_keys(document)
    return document


def with_registries(inputs: UserInputs, options: RegistryOptions) -> UserInputs:
    """Return inputs with the registries that may be asked, if any; raise InputError."""
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
    return inputs._replace(registry=registries, signatures=signatures)


def context_entries(objects: Sequence[Resource]) -> list[GlobalContextEntry]:
    """Return the GlobalContextEntries among objects; raise CompileError for an invalid one."""
    from chartkit.engine.context.global_context import (
        is_global_context_entry,
        read_global_context_entry,
    )

    return [read_global_context_entry(item) for item in objects if is_global_context_entry(item)]
