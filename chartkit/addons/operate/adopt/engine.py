"""Kyverno itself as it is installed: its Deployments, and the values that its chart was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.values.context import Outcome as Change
from chartkit.addons.migrate.values.context import Step
from chartkit.addons.migrate.values.run import migrate
from chartkit.addons.operate.adopt.model import AdoptOptions, EngineValues, Estate, Outcome, Row
from chartkit.addons.operate.rehearsal import engine_releases
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.kyverno import releases
from chartkit.kyverno.matrix import installed_by, matrix
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Body, Location, Resource, mapping_at, mappings_at
from chartkit.scan.inputs import Note
from chartkit.values.moved import is_engine_values

ENGINE: Final = "kyverno"
"""The name of Kyverno's chart, and of the image of its admission controller."""
_RELEASE: Final = "meta.helm.sh/release-name"
_NAMESPACE: Final = "meta.helm.sh/release-namespace"
_PRINTED: Final = frozenset(("USER-SUPPLIED VALUES", "COMPUTED VALUES"))
"""The first line of what `helm get values` prints."""
_EKS: Final = "-eks"
FOLDER: Final = "engine"
_SUBJECT: Final = "engine values"


def is_engine(resource: Resource) -> bool:
    """Report whether an object is the Deployment of Kyverno's admission controller."""
    return resource.kind == "Deployment" and bool(list(_images(resource)))


def release_of(resource: Resource) -> tuple[str, str]:
    """Return the name and namespace of the Helm release of an object, empty for none."""
    annotations = mapping_at(resource.body, "metadata", "annotations")
    return str(annotations.get(_RELEASE) or ""), str(annotations.get(_NAMESPACE) or "")


def elsewhere(resource: Resource) -> str:
    """Return the release or namespace of a Kyverno Deployment; empty if chartkit's own release
    would take its place."""
    name, namespace = release_of(resource)
    namespace = namespace or resource.namespace or NAMESPACE
    if (name or ENGINE, namespace) == (ENGINE, NAMESPACE):
        return ""
    return f"release {namespace}/{name}" if name else f"namespace {namespace}"


def chart_version(resource: Resource) -> Version | None:
    """Return the version of the Helm chart that a Deployment comes from, None without one."""
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


def values_in(document: Document, named: bool) -> EngineValues | None:
    """Return the values of Kyverno's chart in a document, as `helm get values` prints them or as a
    file has them; named: whether the user named the file, so that shared keys are enough."""
    body = document.body
    if not isinstance(body, dict) or not body or "apiVersion" in body:
        return None
    own = {key: value for key, value in body.items() if key not in _PRINTED}
    if (
        set(own) == {ENGINE}
        and isinstance(own[ENGINE], dict)
        and is_engine_values(own[ENGINE], named)
    ):
        values = written_document(own[ENGINE], document.source.file)
        return EngineValues(values, find=partial(document.locate, ENGINE))
    if not is_engine_values(own, named):
        return None
    if len(own) == len(body):
        return EngineValues(document)
    text = "\n".join(
        line
        for line in document.source.text[document.start : document.end].splitlines()
        if line.rstrip().removesuffix(":") not in _PRINTED
    )
    return EngineValues(read_text(f"{text}\n", document.source.file)[0], find=document.locate)


def written_document(values: Body, file: str) -> Document:
    """Return values as a document that is written out; file: where they come from."""
    return read_text(dump_yaml(values), file)[0]


def released_values(
    objects: Sequence[Resource], folders: Sequence[Path], note: Note
) -> Iterator[EngineValues]:
    """Yield the values that Applications of Argo CD and HelmReleases of Flux give Kyverno's chart,
    the last one of a release wins; folders: in which files of values are looked for, besides the
    repository; note is called with what cannot be found."""
    for release, documents in engine_releases(objects, folders, note):
        owner = release.owner.location
        for values in documents:
            if isinstance(values.body, dict) and values.body:
                is_written = values.source.file != str(owner)
                find = values.locate if is_written else partial(_owned, owner)
                document = written_document(values.body, values.source.file)
                yield EngineValues(document, _version(release.version), find)


def _owned(owner: Location, *_key: str) -> Location:
    return owner


def dependency_values(folder: Path, chart: Body) -> EngineValues | None:
    """The values that a chart gives to Kyverno's chart as its dependency; None without it."""
    for dependency in mappings_at(chart, "dependencies"):
        file = folder / "values.yaml"
        if dependency.get("name") != ENGINE or not file.is_file():
            continue
        documents = read_file(file)
        key = str(dependency.get("alias") or ENGINE)
        values = mapping_at(documents[0].body if documents else None, key)
        if values:
            document = written_document(values, str(file))
            version = _version(str(dependency.get("version")))
            return EngineValues(document, version, partial(documents[0].locate, key))
    return None


@dataclass(frozen=True, slots=True)
class Versions:
    """kyverno, kubernetes: what runs there; release: Kyverno's with its patch, None where nothing
    says it; eks: whether the cluster is Amazon's; chart: the Helm
    chart that installed Kyverno, None where nothing says it; elsewhere: whether Kyverno is where
    chartkit's release would not take its place."""

    kyverno: Version
    kubernetes: Version
    eks: bool
    chart: Version | None
    release: Release | None = None
    elsewhere: bool = False

    @property
    def has_engine(self) -> bool:
        """Report whether chartkit's chart installs this Kyverno."""
        return not self.elsewhere and self.kyverno in releases.current().serves


def find_versions(estate: Estate, options: AdoptOptions) -> tuple[Versions, list[Row]]:
    """Return the versions of an environment, with the rows that say where they come from. Options
    override what is there. A trial without files assumes the newest version where nothing tells
    one; otherwise raise InputError."""
    rows: list[Row] = []
    if options.chart_version is not None:
        chart: Version | None = parse_version(options.chart_version, "Kyverno's chart")
    else:
        versions = [values.chart for values in estate.values]
        versions += [chart_version(deployment) for deployment in estate.engine]
        chart = next((version for version in versions if version is not None), None)
    kyverno, release = _kyverno(estate, options, chart, rows)
    given = options.eks if options.eks is not None else options.kubernetes
    if given is not None:
        kubernetes, eks = parse_version(given, "Kubernetes"), options.eks is not None
    elif not estate.cluster_version:
        hint = "give --kubernetes VERSION, or --eks VERSION"
        message = f"nothing says which Kubernetes runs in {estate.name}"
        if not options.dry_run:
            raise InputError(message, hint=hint)
        row = matrix().get(kyverno)
        kubernetes_version = (
            row.newest if row is not None else max(span.newest for span in matrix().values())
        )
        rows.append(_assumed(estate, f"Kubernetes {kubernetes_version}", message, hint))
        kubernetes, eks = kubernetes_version, False
    else:
        kubernetes_version = parse_version(estate.cluster_version, "Kubernetes")
        subject = f"Kubernetes {kubernetes_version}"
        message = f"the API server is {estate.cluster_version}"
        rows.append(_row(estate, subject, message))
        kubernetes, eks = kubernetes_version, _EKS in estate.cluster_version
    other = next(filter(None, map(elsewhere, estate.engine)), "")
    if other:
        message = f"is in {other}, and chartkit's charts install it as kyverno/kyverno: "
        message += "two would run"
        hint = "engine: false leaves it there; remove it before you set engine: true"
        location = estate.engine[0].location
        rows.append(Row(Outcome.LEFT, "Kyverno", message, location, hint, estate.name))
    return Versions(kyverno, kubernetes, eks, chart, release, bool(other)), rows


def _kyverno(
    estate: Estate, options: AdoptOptions, chart: Version | None, rows: list[Row]
) -> tuple[Version, Release | None]:
    if options.kyverno is not None:
        return parse_version(options.kyverno, "Kyverno"), parse_release(options.kyverno)
    runs: dict[Version, Row] = {}
    releases_found: dict[Version, Release | None] = {}
    for deployment in estate.engine:
        for tag in (image for image in _images(deployment) if _version(image) is not None):
            version = parse_version(tag, "Kyverno")
            message = f"runs as Deployment {deployment.namespace}/{deployment.name}"
            runs.setdefault(version, _row(estate, f"Kyverno {tag}", message, deployment))
            releases_found.setdefault(version, parse_release(tag))
    if not runs and chart is not None and chart in installed_by():
        version = installed_by()[chart]
        runs[version] = _row(estate, f"Kyverno {version}", f"is what chart {chart} installs")
    if not runs:
        hint = "give --kyverno VERSION, or name a manifest of Kyverno's Deployments"
        message = f"nothing says which Kyverno runs in {estate.name}"
        if not options.dry_run:
            raise InputError(message, hint=hint)
        version = max(releases.current().serves)
        rows.append(_assumed(estate, f"Kyverno {version}", message, hint))
        return version, None
    newest = max(runs)
    rows += [
        row if version == newest else replace(row, outcome=Outcome.LEFT)
        for version, row in sorted(runs.items())
    ]
    return newest, releases_found.get(newest)


def _row(estate: Estate, subject: str, message: str, resource: Resource | None = None) -> Row:
    location = resource.location if resource is not None else None
    return Row(Outcome.TAKEN, subject, message, location, "", estate.name)


def _assumed(estate: Estate, subject: str, message: str, hint: str) -> Row:
    return Row(Outcome.LEFT, subject, f"is assumed: {message}", None, hint, estate.name)


def migrate_values(estate: Estate, versions: Versions) -> tuple[dict[str, str], list[Row]]:
    """Return the engine's values of an environment for today's chart, as files by their path in the
    project, of which the last one wins; with a row for each key that did not just move. Values that
    cannot be rearranged stay as they are, with the reason."""
    texts: dict[str, str] = {}
    rows: list[Row] = []
    for number, values in enumerate(estate.values, 1):
        suffix = f"-{number}" if len(estate.values) > 1 else ""
        name = f"{FOLDER}/{estate.file_name}{suffix}.yaml"
        try:
            migration = migrate(values.document, given=values.chart or versions.chart)
        except InputError as error:
            location, hint = error.location or values.locate(), error.hint or ""
            rows.append(Row(Outcome.LEFT, _SUBJECT, error.message, location, hint, estate.name))
            continue
        texts[name] = migration.text
        if not versions.has_engine:
            message = f"{name} is not used while Kyverno is installed by another chart"
            hint = "set engine: true and name it under engineValues, once Kyverno is upgraded"
            location = values.locate()
            rows.append(Row(Outcome.NOTE, _SUBJECT, message, location, hint, estate.name))
        moved = sum(step.outcome is Change.MOVED for step in migration.steps)
        text = f"→ {name}; of chart {migration.span}"
        text += f", {moved} {'key' if moved == 1 else 'keys'} moved" if moved else ""
        rows.append(Row(Outcome.TAKEN, _SUBJECT, text, values.locate(), "", estate.name))
        rows += (
            _step(step, values, estate.name)
            for step in migration.steps
            if step.outcome is not Change.MOVED
        )
    return texts, rows


def _step(step: Step, values: EngineValues, environment: str) -> Row:
    outcome = {Change.ASKED: Outcome.LEFT, Change.REMOVED: Outcome.LEFT}.get(
        step.outcome, Outcome.CHANGED
    )
    location = values.locate(step.key, step.line)
    message = {Change.ASKED: "is for you to decide", Change.REMOVED: "has no counterpart"}.get(
        step.outcome, "keeps its key and gets another value"
    )
    return Row(
        outcome, f"{_SUBJECT} {step.key}", f"{message}: {step.why}", location, step.do, environment
    )
