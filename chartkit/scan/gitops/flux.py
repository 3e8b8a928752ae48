"""HelmReleases of Flux.

Source: https://fluxcd.io/flux/components/helm/helmreleases/.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    FieldPath,
    Resource,
    list_of,
    mapping_at,
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

KIND: Final = "HelmRelease"
_DEFAULT_KEY: Final = "values.yaml"
_KINDS: Final = frozenset({"ConfigMap", "Secret"})
_SUBSTITUTE: Final = "kustomize.toolkit.fluxcd.io/substitute"
"""The label or annotation that switches variables off."""

Configs = Mapping[tuple[str, str, str], Resource]
"""ConfigMaps and Secrets by kind, namespace and name."""


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
    """Return the release that a HelmRelease declares; raise InputError for values that cannot be
    read."""
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
    for at, each in enumerate(list_of(spec.get("valuesFrom"))):
        if isinstance(each, dict):
            _add_reference(release, each, at, configs, repository.room)
    release.values += [] if given is None else [given]
    if has_variables:
        _fill(release)
    if spec.get("postRenderers"):
        release.note("its postRenderers are not applied", "/spec/postRenderers")
    return release


_UNJUDGED: Final = "what depends on them is not judged"


def _fill(found: DeclaredRelease) -> None:
    """Fill the defaults of variables into the values that objects hold; note what has none."""
    unknown: list[FieldPath] = []
    for at, value in enumerate(found.values):
        if isinstance(value, Document):
            found.values[at] = replace(value, body=filled(value.body, unknown))
        elif isinstance(value, dict):
            found.values[at] = filled(value, unknown) or {}
    found.unknown = tuple(unknown)
    if unknown:
        message = f"variables of its values have no default ({len(unknown)}): {_UNJUDGED}"
        found.note(message, "/spec/values")


def _add_chart(found: DeclaredRelease, spec: Body, repository: Repository) -> None:
    reference = mapping_at(spec, "chartRef")
    if reference:
        found.pointer = "/spec/chartRef"
        found.chart = text_of(reference.get("name"))
        found.origin = f"{text_of(reference.get('kind'))} '{found.chart}'"
        return
    chart = mapping_at(spec, "chart", "spec")
    found.pointer = "/spec/chart/spec/chart"
    found.chart, found.version = text_of(chart.get("chart")), str(chart.get("version") or "")
    source = mapping_at(chart, "sourceRef")
    kind = text_of(source.get("kind"))
    if kind not in ("GitRepository", "Bucket"):
        found.origin = f"{kind} '{text_of(source.get('name'))}'"
        return
    # Named files stand in the place of the chart's own values.
    files = [*texts_of(chart.get("valuesFiles")), *filter(None, [text_of(chart.get("valuesFile"))])]
    for name in files:
        file = repository.find(found.owner, name)
        if file is not None and file.is_file():
            found.values.append(file)
        elif chart.get("ignoreMissingValuesFiles") is not True:
            found.fault(f"there is no file '{name}'", "/spec/chart/spec/valuesFiles")


def _add_reference(
    found: DeclaredRelease, reference: Body, at: int, configs: Configs, room: Room
) -> None:
    kind, name = text_of(reference.get("kind")), text_of(reference.get("name"))
    namespace = found.owner.namespace or "default"
    key = text_of(reference.get("valuesKey")) or _DEFAULT_KEY
    pointer = f"/spec/valuesFrom/{at}"
    config = configs.get((kind, namespace, name))
    text = None if config is None else _entry(config, key)
    if config is None or text is None:
        if reference.get("optional") is not True:
            what = f"{kind} '{name}'" if config is None else f"key '{key}' of {kind} '{name}'"
            hint = "scan it together with this object"
            found.fault(f"the {what} of its valuesFrom is not among the inputs", pointer, hint)
        return
    room.take(len(text))
    path = text_of(reference.get("targetPath"))
    if path:
        found.values.append(_at_path(found, path, text, pointer))
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
        found.values.append(values)


def _at_path(found: DeclaredRelease, path: str, text: str, pointer: str) -> Body:
    named = NamedValues()
    try:
        named.set(path, typed(text.strip()))
    except ValueNameError:
        found.fault(f"its targetPath '{path}' is not a path of values", pointer)
    return named.values


def _entry(config: Resource, key: str) -> str | None:
    """Return a text of a ConfigMap or Secret; None where it is not there. Raise InputError."""
    plain = mapping_at(config.body, "stringData").get(key)
    if config.kind == "Secret" and isinstance(plain, str):
        return plain
    value = mapping_at(config.body, "data").get(key)
    if not isinstance(value, str) or config.kind != "Secret":
        return value if isinstance(value, str) else None
    try:
        # kustomize folds its lines.
        return base64.b64decode("".join(value.split()), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        location = config.location.within("/data")
        raise InputError(f"'{key}' is not Base64 of a text", location) from None
