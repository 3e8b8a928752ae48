"""Applications and ApplicationSets of Argo CD.

Source: https://argo-cd.readthedocs.io/en/stable/user-guide/helm/ and
https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-List/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.model import (
    Body,
    Json,
    Resource,
    list_of,
    mapping_at,
    mappings_at,
    pointer_of,
    text_of,
    texts_of,
)
from chartkit.scan.gitops.model import (
    DeclaredRelease,
    NamedValues,
    Repository,
    Room,
    ValueNameError,
    mapping_document,
    text_document,
    typed,
)

APPLICATION: Final = "Application"
APPLICATION_SET: Final = "ApplicationSet"
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?([\w.-]+)\s*-?\}\}")
_LEFT: Final = "{{"
_MOST_ELEMENTS: Final = 200


def read_applications(resource: Resource, repository: Repository) -> Iterator[DeclaredRelease]:
    """Yield the releases that an Application, or the Applications of an ApplicationSet, declare;
    raise InputError for values that cannot be read."""
    if resource.kind == APPLICATION:
        yield from _of_application(resource, resource.body, (), repository)
        return
    template = mapping_at(resource.body, "spec", "template")
    # The elements of list generators, and the names of the others.
    elements: list[Body] = []
    others: list[str] = []
    for generator in mappings_at(resource.body, "spec", "generators"):
        given = mapping_at(generator, "list").get("elements")
        if isinstance(given, list):
            elements += [each for each in given if isinstance(each, dict)]
            if len(elements) > _MOST_ELEMENTS:
                others.append(f"list (elements beyond {_MOST_ELEMENTS})")
        others += [name for name in generator if name not in ("list", "selector")]
    elements, others = elements[:_MOST_ELEMENTS], others
    for element in elements:
        filled = _filled(template, element, repository.room)
        if _LEFT in str(filled.get("spec")):
            break
        yield from _of_application(resource, filled, ("spec", "template"), repository)
    else:
        if not others:
            return
    if not elements and _LEFT not in str(template.get("spec")):
        yield from _of_application(resource, template, ("spec", "template"), repository)
        return
    release = DeclaredRelease(resource, origin="unknown", pointer="/spec/generators")
    listed = f" of the generators {', '.join(others)}" if others else ""
    release.note(f"its Applications{listed} are not known: they are not rendered", release.pointer)
    release.origin = ""
    yield release


def _filled(value: Json, element: Body, room: Room) -> Json:
    """Return a template with the values of an element in the place of `{{name}}`."""
    room.take(len(value) + 1 if isinstance(value, str) else 1)

    def replaced(match: re.Match[str]) -> str:
        found: Json = element
        for step in match[1].split("."):
            found = found.get(step) if isinstance(found, dict) else None
        text = str(found) if isinstance(found, str | int) else match[0]
        room.take(len(text))
        return text

    if isinstance(value, dict):
        return {key: _filled(each, element, room) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, element, room) for each in value]
    return _PARAMETER.sub(replaced, value) if isinstance(value, str) else value


def _of_application(
    resource: Resource, body: Body, prefix: tuple[str, ...], repository: Repository
) -> Iterator[DeclaredRelease]:
    spec = mapping_at(body, "spec")
    sources = [(mapping_at(spec, "source"), (*prefix, "spec", "source"))]
    several = mappings_at(spec, "sources")
    if several:
        sources = [(each, (*prefix, "spec", "sources", str(at))) for at, each in enumerate(several)]
    namespace = text_of(mapping_at(spec, "destination").get("namespace")) or "default"
    metadata = mapping_at(body, "metadata")
    name = text_of(metadata.get("name")) or resource.name
    references = {text_of(each.get("ref")): each for each in several if text_of(each.get("ref"))}
    for source, path in sources:
        if not source or (
            text_of(source.get("ref")) and not (source.get("path") or source.get("chart"))
        ):
            continue
        yield _of_source(resource, source, path, name, namespace, references, repository)


def _of_source(
    resource: Resource,
    source: Body,
    path: tuple[str, ...],
    name: str,
    namespace: str,
    references: dict[str, Body],
    repository: Repository,
) -> DeclaredRelease:
    helm = mapping_at(source, "helm")
    release = DeclaredRelease(
        resource,
        release=text_of(helm.get("releaseName")) or name,
        namespace=text_of(helm.get("namespace")) or namespace,
        kube_version=text_of(helm.get("kubeVersion")) or None,
        api_versions=tuple(texts_of(helm.get("apiVersions"))),
    )
    release.chart = text_of(source.get("chart")) or text_of(source.get("path"))
    release.pointer = pointer_of(*path, "chart" if source.get("chart") else "path")
    if source.get("chart"):
        release.origin = text_of(source.get("repoURL"))
        release.version = str(source.get("targetRevision") or "")
    _add_files(release, helm, path, references, repository)
    text = helm.get("values")
    if isinstance(text, str) and not helm.get("valuesObject"):
        # What a template filled in is not the text that stands in the object.
        owner = resource if resource.kind == APPLICATION else Resource(resource.body)
        document = text_document(owner, text, *path, "helm", "values")
        release.values += [] if document is None else [document]
    values = mapping_document(resource, helm.get("valuesObject"), *path, "helm", "valuesObject")
    release.values += [] if values is None else [values]
    _add_parameters(release, helm, path)
    if helm.get("fileParameters"):
        release.note(
            "its fileParameters are not applied", pointer_of(*path, "helm", "fileParameters")
        )
    for key in ("kustomize", "plugin"):
        if source.get(key):
            release.note(f"its {key} is not applied", pointer_of(*path, key))
    return release


def _add_files(
    found: DeclaredRelease,
    helm: Body,
    path: tuple[str, ...],
    references: dict[str, Body],
    repository: Repository,
) -> None:
    for at, name in enumerate(texts_of(helm.get("valueFiles"))):
        pointer = pointer_of(*path, "helm", "valueFiles", at)
        if "://" in name:
            found.fault(f"its values file '{name}' is not fetched", pointer)
            continue
        start, _, rest = name.partition("/")
        inside = f"{found.chart}/{name}" if not name.startswith("/") else name
        if start.startswith("$") and start[1:] in references:
            inside = rest
        elif found.origin:
            # A values file of a chart that is elsewhere is there, too.
            continue
        file = repository.find(found.owner, inside)
        if file is not None and file.is_file():
            found.values.append(file)
        elif helm.get("ignoreMissingValueFiles") is not True:
            found.fault(f"there is no values file '{name}'", pointer)


def _add_parameters(found: DeclaredRelease, helm: Body, path: tuple[str, ...]) -> None:
    named = NamedValues()
    for at, each in enumerate(list_of(helm.get("parameters"))):
        given = mapping_at(each)
        name, value = given.get("name"), given.get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            continue
        try:
            named.set(name, value if given.get("forceString") is True else typed(value))
        except ValueNameError:
            pointer = pointer_of(*path, "helm", "parameters", at)
            found.fault(f"'{name}' is not a name of a value", pointer)
    if named.values:
        found.values.append(named.values)
