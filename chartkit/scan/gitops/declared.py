"""The objects that declare releases: HelmReleases of Flux, Applications and ApplicationSets of Argo
CD.

Source: https://fluxcd.io/flux/components/helm/helmreleases/,
https://argo-cd.readthedocs.io/en/stable/user-guide/helm/ and
https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-List/.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    FieldPath,
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
    filled,
    mapping_document,
    text_document,
    typed,
)

HELM_RELEASE: Final = "HelmRelease"
_DEFAULT_KEY: Final = "values.yaml"
_KINDS: Final = frozenset({"ConfigMap", "Secret"})
_SUBSTITUTE: Final = "kustomize.toolkit.fluxcd.io/substitute"
"""The label or annotation that switches variables off."""

Configs = Mapping[tuple[str, str, str], Resource]
"""ConfigMaps and Secrets by kind, namespace and name."""
_UNJUDGED: Final = "what depends on them is not judged"
APPLICATION: Final = "Application"
APPLICATION_SET: Final = "ApplicationSet"
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?([\w.-]+)\s*-?\}\}")
_LEFT: Final = "{{"
_MOST_ELEMENTS: Final = 200


def configs_of(objects: Sequence[Resource]) -> Configs:
    """Return the ConfigMaps and Secrets among objects."""
    return {
        (resource.kind, resource.namespace or "default", resource.name): resource
        for resource in objects
        if resource.kind in _KINDS and resource.api_version == "v1"
    }


def read_helm_release(
    resource: Resource, configs: Configs, repository: Repository
) -> DeclaredRelease:
    """The release that a HelmRelease declares; raises InputError for values that cannot be read."""
    metadata, spec = mapping_at(resource.body, "metadata"), mapping_at(resource.body, "spec")
    given = mapping_document(resource, spec.get("values"), "spec", "values")
    has_variables = not any(
        _SUBSTITUTE in mapping_at(metadata, key) for key in ("labels", "annotations")
    )
    if has_variables:
        spec = filled(spec, []) or {}
    own = resource.namespace or "default"
    target = text_of(spec.get("targetNamespace"))
    name = f"{target}-{resource.name}" if target else resource.name
    release = DeclaredRelease(
        resource, release=text_of(spec.get("releaseName")) or name, namespace=target or own
    )
    _add_chart(release, spec, repository)
    for at, reference in enumerate(list_of(spec.get("valuesFrom"))):
        if isinstance(reference, dict):
            _add_reference(release, reference, at, configs, repository.room)
    release.values += [] if given is None else [given]
    if has_variables:
        # Fill the defaults of variables into the values that objects hold; note what has none.
        unknown: list[FieldPath] = []
        for at, value in enumerate(release.values):
            if isinstance(value, Document):
                release.values[at] = replace(value, body=filled(value.body, unknown))
            elif isinstance(value, dict):
                release.values[at] = filled(value, unknown) or {}
        release.unknown = tuple(unknown)
        if unknown:
            message = f"variables of its values have no default ({len(unknown)}): {_UNJUDGED}"
            release.note(message, "/spec/values")
    if spec.get("postRenderers"):
        release.note("its postRenderers are not applied", "/spec/postRenderers")
    return release


def _add_chart(release: DeclaredRelease, spec: Body, repository: Repository) -> None:
    reference = mapping_at(spec, "chartRef")
    if reference:
        release.pointer = "/spec/chartRef"
        release.chart = text_of(reference.get("name"))
        release.origin = f"{text_of(reference.get('kind'))} '{release.chart}'"
        return
    chart = mapping_at(spec, "chart", "spec")
    release.pointer = "/spec/chart/spec/chart"
    release.chart, release.version = text_of(chart.get("chart")), str(chart.get("version") or "")
    source = mapping_at(chart, "sourceRef")
    kind = text_of(source.get("kind"))
    if kind not in ("GitRepository", "Bucket"):
        release.origin = f"{kind} '{text_of(source.get('name'))}'"
        return
    # Named files stand in the place of the chart's own values.
    files = [*texts_of(chart.get("valuesFiles")), *filter(None, [text_of(chart.get("valuesFile"))])]
    for name in files:
        file = repository.find(release.owner, name)
        if file is not None and file.is_file():
            release.values.append(file)
        elif chart.get("ignoreMissingValuesFiles") is not True:
            release.fault(f"there is no file '{name}'", "/spec/chart/spec/valuesFiles")


def _add_reference(
    release: DeclaredRelease, reference: Body, at: int, configs: Configs, room: Room
) -> None:
    kind, name = text_of(reference.get("kind")), text_of(reference.get("name"))
    namespace = release.owner.namespace or "default"
    key = text_of(reference.get("valuesKey")) or _DEFAULT_KEY
    pointer = f"/spec/valuesFrom/{at}"
    config = configs.get((kind, namespace, name))
    text = None if config is None else _entry(config, key)
    if config is None or text is None:
        if reference.get("optional") is not True:
            what = f"{kind} '{name}'" if config is None else f"key '{key}' of {kind} '{name}'"
            hint = "scan it together with this object"
            release.fault(f"the {what} of its valuesFrom is not among the inputs", pointer, hint)
        return
    room.take(len(text))
    path = text_of(reference.get("targetPath"))
    if path:
        named = NamedValues()
        try:
            named.set(path, typed(text.strip()))
        except ValueNameError:
            release.fault(f"its targetPath '{path}' is not a path of values", pointer)
        release.values.append(named.values)
        return
    # A text of a ConfigMap or Secret as values; None for an empty one.
    if config.kind == "Secret" and key not in mapping_at(config.body, "stringData"):
        # What is Base64 in the file has no lines there.
        location = config.location.within(pointer_of("data", key))
        values = text_document(Resource({}, replace(location, places=None)), text, "data", key)
    else:
        section = "stringData" if config.kind == "Secret" else "data"
        values = text_document(config, text, section, key)
    if values is not None:
        release.values.append(values)


def _entry(config: Resource, key: str) -> str | None:
    """Return a text of a ConfigMap or Secret; None where it is not there. Raise InputError."""
    text = mapping_at(config.body, "stringData").get(key)
    if config.kind == "Secret" and isinstance(text, str):
        return text
    value = mapping_at(config.body, "data").get(key)
    if not isinstance(value, str) or config.kind != "Secret":
        return value if isinstance(value, str) else None
    try:
        # kustomize folds its lines.
        return base64.b64decode("".join(value.split()), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        location = config.location.within("/data")
        raise InputError(f"'{key}' is not Base64 of a text", location) from None


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
            elements += [element for element in given if isinstance(element, dict)]
            if len(elements) > _MOST_ELEMENTS:
                others.append(f"list (elements beyond {_MOST_ELEMENTS})")
        others += [name for name in generator if name not in ("list", "selector")]
    for element in elements[:_MOST_ELEMENTS]:
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
        field: Json = element
        for step in match[1].split("."):
            field = field.get(step) if isinstance(field, dict) else None
        text = str(field) if isinstance(field, str | int) else match[0]
        room.take(len(text))
        return text

    if isinstance(value, dict):
        return {key: _filled(item, element, room) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, element, room) for item in value]
    return _PARAMETER.sub(replaced, value) if isinstance(value, str) else value


def _of_application(
    resource: Resource, body: Body, prefix: tuple[str, ...], repository: Repository
) -> Iterator[DeclaredRelease]:
    spec = mapping_at(body, "spec")
    sources = [(mapping_at(spec, "source"), (*prefix, "spec", "source"))]
    several = mappings_at(spec, "sources")
    if several:
        sources = [(part, (*prefix, "spec", "sources", str(at))) for at, part in enumerate(several)]
    namespace = text_of(mapping_at(spec, "destination").get("namespace")) or "default"
    metadata = mapping_at(body, "metadata")
    name = text_of(metadata.get("name")) or resource.name
    references = {text_of(part.get("ref")): part for part in several if text_of(part.get("ref"))}
    for source, path in sources:
        if not source or (
            text_of(source.get("ref")) and not (source.get("path") or source.get("chart"))
        ):
            continue
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
        yield release


def _add_files(
    release: DeclaredRelease,
    helm: Body,
    path: tuple[str, ...],
    references: dict[str, Body],
    repository: Repository,
) -> None:
    for at, name in enumerate(texts_of(helm.get("valueFiles"))):
        pointer = pointer_of(*path, "helm", "valueFiles", at)
        if "://" in name:
            release.fault(f"its values file '{name}' is not fetched", pointer)
            continue
        start, _, rest = name.partition("/")
        inside = f"{release.chart}/{name}" if not name.startswith("/") else name
        if start.startswith("$") and start[1:] in references:
            inside = rest
        elif release.origin:
            # A values file of a chart that is elsewhere is there, too.
            continue
        file = repository.find(release.owner, inside)
        if file is not None and file.is_file():
            release.values.append(file)
        elif helm.get("ignoreMissingValueFiles") is not True:
            release.fault(f"there is no values file '{name}'", pointer)


def _add_parameters(release: DeclaredRelease, helm: Body, path: tuple[str, ...]) -> None:
    named = NamedValues()
    for at, item in enumerate(list_of(helm.get("parameters"))):
        given = mapping_at(item)
        name, value = given.get("name"), given.get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            continue
        try:
            named.set(name, value if given.get("forceString") is True else typed(value))
        except ValueNameError:
            pointer = pointer_of(*path, "helm", "parameters", at)
            release.fault(f"'{name}' is not a name of a value", pointer)
    if named.values:
        release.values.append(named.values)
