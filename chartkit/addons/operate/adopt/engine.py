"""Kyverno itself as it is installed: its Deployments, and the values that its chart was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from chartkit.addons.operate.adopt.model import EngineValues
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Resource, mapping_at, mappings_at
from chartkit.scan.gitops.model import Repository
from chartkit.scan.gitops.releases import checkout_of, declared_releases
from chartkit.scan.gitops.values import values_documents
from chartkit.scan.inputs import Note
from chartkit.values.moved.current import is_engine_values

ENGINE: Final = "kyverno"
"""The name of Kyverno's chart, and of the image of its admission controller."""
_RELEASE: Final = "meta.helm.sh/release-name"
_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_PRINTED: Final = frozenset(("USER-SUPPLIED VALUES", "COMPUTED VALUES"))
"""The first line of what `helm get values` prints."""


def is_engine(resource: Resource) -> bool:
    """Return whether an object is the Deployment of Kyverno's admission controller."""
    return resource.kind == "Deployment" and bool(list(_images(resource)))


def engine_tags(resource: Resource) -> Iterator[str]:
    """Yield the tags of a Deployment's images that name a version of Kyverno."""
    return (each for each in _images(resource) if _version(each) is not None)


def release_of(resource: Resource) -> tuple[str, str]:
    """Return the name and namespace of the Helm release of an object, empty for none."""
    annotations = mapping_at(resource.body, "metadata", "annotations")
    return str(annotations.get(_RELEASE) or ""), str(annotations.get(_NAMESPACE) or "")


def elsewhere(resource: Resource) -> str:
    """Return where a Deployment of Kyverno's is, unless chartkit's release would take its place;
    empty if it would."""
    name, namespace = release_of(resource)
    namespace = namespace or resource.namespace or NAMESPACE
    if (name or ENGINE, namespace) == (ENGINE, NAMESPACE):
        return ""
    return f"release {namespace}/{name}" if name else f"namespace {namespace}"


def chart_version(resource: Resource) -> Version | None:
    """Return the version of the Helm chart that a Deployment comes from, None for none."""
    labels = mapping_at(resource.body, "metadata", "labels")
    name, _, version = str(labels.get("helm.sh/chart") or "").rpartition(f"{ENGINE}-")
    return None if name else _version(version)


def _version(text: str) -> Version | None:
    try:
        return parse_version(text, "Kyverno's chart")
    except InputError:
        return None


def _images(resource: Resource) -> Iterator[str]:
    """Yield the tags of containers that run the image `kyverno`."""
    for container in mappings_at(resource.body, "spec", "template", "spec", "containers"):
        image = str(container.get("image") or "").partition("@")[0]
        name, _, tag = image.rpartition("/")[2].partition(":")
        if name == ENGINE:
            yield tag


def values_document(document: Document, named: bool) -> Document | None:
    """Return a document if it is values of Kyverno's chart, as `helm get values` prints them or as
    a file has them; named: whether the user named the file, so that shared keys are enough."""
    body = document.body
    if not isinstance(body, dict) or not body or "apiVersion" in body:
        return None
    own = {key: value for key, value in body.items() if key not in _PRINTED}
    if (
        set(own) == {ENGINE}
        and isinstance(own[ENGINE], dict)
        and is_engine_values(own[ENGINE], named)
    ):
        return written_document(own[ENGINE], f"{document.source.file} ({ENGINE}:)")
    if not is_engine_values(own, named):
        return None
    if len(own) == len(body):
        return document
    text = "\n".join(
        line
        for line in document.source.text[document.start : document.end].splitlines()
        if line.rstrip().removesuffix(":") not in _PRINTED
    )
    return read_text(f"{text}\n", document.source.file)[0]


def written_document(values: Body, file: str) -> Document:
    """Return values as a document that is written out; file: where they come from."""
    return read_text(dump_yaml(values), file)[0]


def released_values(
    objects: Sequence[Resource], folders: Sequence[Path], note: Note
) -> Iterator[EngineValues]:
    """Yield the values that Applications of Argo CD and HelmReleases of Flux give Kyverno's chart,
    the last one of a release wins; folders: in which files of values are looked for, besides the
    repository; note is called with what cannot be found."""
    for release in declared_releases(objects, Repository(folders, checkout_of), note):
        if not release.is_engine:
            continue
        for fault in release.faults:
            note(fault)
        owner = release.owner
        place = f"{owner.location} ({owner.kind} {owner.name})"
        for each in values_documents(release):
            if isinstance(each.body, dict) and each.body:
                yield EngineValues(written_document(each.body, place), _version(release.version))


def dependency_values(folder: Path, chart: Body) -> EngineValues | None:
    """Return the values that a chart gives to Kyverno's chart, on which it depends; None for
    none."""
    for dependency in mappings_at(chart, "dependencies"):
        file = folder / "values.yaml"
        if dependency.get("name") != ENGINE or not file.is_file():
            continue
        documents = read_file(file)
        key = str(dependency.get("alias") or ENGINE)
        values = mapping_at(documents[0].body if documents else None, key)
        if values:
            document = written_document(values, f"{file} ({key}:)")
            return EngineValues(document, _version(str(dependency.get("version"))))
    return None
