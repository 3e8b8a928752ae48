"""The legacy objects of files, folders, charts, standard input, or a cluster, what generated them,
and the form in which Kyverno takes those whose versions or fields it no longer has."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Final, TextIO

from chartkit.addons.migrate.acceptance import IN_CLUSTER
from chartkit.addons.migrate.conversion import LegacyRule, legacy_rules
from chartkit.addons.migrate.options import InventoryOptions
from chartkit.addons.migrate.plan.origin import Origin, Tool, origin_of
from chartkit.documents.reader import Document, read_file, read_source, read_stdin, resources
from chartkit.documents.unread import exclusion, is_unread, unread
from chartkit.engine import compile_any, is_exception, read_exceptions
from chartkit.engine.cleanup.policy import API_VERSIONS as CLEANUP_VERSIONS
from chartkit.engine.cluster_policy.exceptions import API_VERSIONS as EXCEPTION_VERSIONS
from chartkit.engine.cluster_policy.policy import API_VERSIONS as POLICY_VERSIONS
from chartkit.engine.cluster_policy.policy import KINDS as POLICY_KINDS
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.engine.kubernetes.kinds import CLEANUP_KINDS, KYVERNO_GROUP
from chartkit.errors import CompileError, InputError, MissingChartError, RenderError
from chartkit.helm.embedded_code import first_code
from chartkit.model import (
    Body,
    Diagnostic,
    Location,
    Resource,
    Severity,
    list_of,
    mapping_at,
    pointer_steps,
)
from chartkit.network.cluster.reader import Reader
from chartkit.network.cluster.recording import is_recording
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.ineffective import scan_note
from chartkit.scan.inputs import (
    CHART_FILE,
    STDIN,
    ChartOptions,
    Note,
    existing,
    is_chart,
    is_object,
)
from chartkit.scan.inputs.folders import render_inputs, unread_file, walk

OTHER_VALUES: Final = "other-values"
"""The ID of notes on charts that render no legacy object with the values that are given."""
_PROJECT: Final = "chartkit.yaml"
_VERSIONS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(POLICY_KINDS, POLICY_VERSIONS),
    **dict.fromkeys(CLEANUP_KINDS, CLEANUP_VERSIONS),
    "PolicyException": EXCEPTION_VERSIONS,
}
_EXISTING: Final = "generateExistingOnPolicyUpdate"
_NOT_SERVED: Final = "Kyverno does not serve {old}: it is read as {new}"
_OLD_FIELD: Final = "Kyverno does not take spec.{old}: {new} takes its place"
_LEGACY_KIND: Final = re.compile(
    r"^ *kind: *[\"']?((Cluster)?(Cleanup)?Policy|PolicyException)[\"']? *$", re.MULTILINE
)
_GROUP: Final = f"apiVersion: {KYVERNO_GROUP}/"
_NOT_WITH_THESE: Final = "names a policy of kyverno.io that is not rendered with these values"
_OF_HELM: Final = re.compile(r"\{\{[^}]*\.(Values|Release|Chart|Capabilities|Template|Files)\b")
"""Code that names Helm's objects; other programs have templates of the same language."""
_MARK: Final = "<%"
"""The beginning of code in policies of a library in chartkit's own format."""
_PARAMETERS: Final = "has parameters of a policy library, and no values for them"
_POLICIES_CHART: Final = "kyverno-policies"
NOT_RENDERED: Final = "is Helm code, which only Helm can run"
API_VERSIONS: Final = (
    *("kyverno.io/v1", "kyverno.io/v1/ClusterPolicy", "kyverno.io/v1/Policy"),
    *("kyverno.io/v2", "kyverno.io/v2/ClusterCleanupPolicy", "kyverno.io/v2/CleanupPolicy"),
    "kyverno.io/v2/PolicyException",
)
"""The kinds and versions that charts ask for before they render policies."""


@dataclass(frozen=True, slots=True)
class LegacyObject:
    """A policy, cleanup policy or exception of kyverno.io.

    origin: what generated it; rules: its rules by type; refused: why Kyverno does not take it,
    nothing where it does; document: of the file that it is in, None for one that was rendered or is
    in a cluster; copies: where else the inputs have it; current: the form that Kyverno accepts,
    None where it accepts the resource as it is; replaced: what is other in it, a sentence each;
    is_code: whether Helm makes another object of it.
    """

    resource: Resource
    origin: Origin
    rules: tuple[LegacyRule, ...]
    refused: tuple[Diagnostic, ...] = ()
    document: Document | None = None
    copies: tuple[Location, ...] = ()
    current: Resource | None = None
    replaced: Sequence[str] = ()
    is_code: bool = False

    def locate(self, pointer: str) -> Location:
        """Return the location of a part of the object, or of the object where it has no
        document."""
        location = self.resource.location
        if not pointer:
            return location
        if self.document is None:
            return replace(location, path=pointer)
        return self.document.locate(*pointer_steps(f"{location.path}{pointer}"))


@dataclass(frozen=True, slots=True)
class Inventory:
    """objects: in the order of the inputs; faults: what the inputs have that cannot be read;
    unread: what could not be read of a cluster, and charts that others depend on and that are not
    there, a line each; documents: those of the texts that could be read, by file; charts: the
    folders of the charts that were; resources: all objects, none of a cluster; notes: on charts
    that render no legacy object with the values that are given, and on files without objects."""

    objects: tuple[LegacyObject, ...]
    faults: tuple[Diagnostic, ...] = ()
    unread: tuple[str, ...] = ()
    documents: Mapping[Path, Sequence[Document]] = field(default_factory=dict)
    charts: Sequence[Path] = ()
    resources: Sequence[Resource] = ()
    notes: Sequence[Diagnostic] = ()

    @property
    def findings(self) -> Sequence[Diagnostic]:
        """Return what cannot be read, and why Kyverno refuses some of the objects."""
        return [*self.faults, *(finding for legacy in self.objects for finding in legacy.refused)]


def read_inventory(options: InventoryOptions, stdin: TextIO, note: Note) -> Inventory:
    """Return the legacy objects of the inputs; note takes Helm's warnings about charts.

    Raise InputError for options that cannot be combined and paths without objects, and SourceError
    where a cluster does not answer.
    """
    source = cluster_source(options)
    if source is None:
        chart = ChartOptions(
            options.values, options.release, options.namespace, options.kube_version, API_VERSIONS
        )
        return _Files(chart, stdin, note).read(options.paths)
    from chartkit.scan.cluster import open_cluster

    with open_cluster(source) as reader:
        return cluster_inventory(reader)


def cluster_inventory(reader: Reader) -> Inventory:
    """Return the legacy objects of a cluster."""
    from chartkit.network.cluster.reader import legacy_there

    legacy_objects = [_legacy(resource) for resource in legacy_there(reader)]
    unread = tuple(f"{what}: {reason}" for what, reason in reader.unread.items())
    return Inventory(tuple(legacy_objects), unread=unread)


def without_copies(inventory: Inventory) -> Inventory:
    """Return an inventory with each object once, as its source where it has one: charts and
    rendered manifests have it as well.

    The same are objects of one name with the same rules or spec, and those of one name in a project
    (a folder with a chartkit.yaml), which renders them with other settings for each environment.
    """
    project_of = cache(_project)
    same: dict[tuple[object, ...], list[LegacyObject]] = {}
    for legacy in inventory.objects:
        project = project_of(Path(legacy.resource.location.file).resolve().parent)
        key = (legacy.resource.kind, legacy.resource.namespace, legacy.resource.name)
        same.setdefault((*key, project or _content(legacy.resource.body)), []).append(legacy)
    kept = []
    for copies in same.values():
        sources = (copy for copy in copies if copy.document and copy.origin.tool is not Tool.HELM)
        source = next(sources, copies[0])
        places = (legacy.resource.location for legacy in copies if legacy is not source)
        kept.append(replace(source, copies=tuple(places)))
    return replace(inventory, objects=tuple(kept))


def _project(folder: Path) -> Path | None:
    """Return the project that a folder is in, None for a folder outside of projects."""
    return next(
        (above for above in (folder, *folder.parents) if (above / _PROJECT).is_file()), None
    )


def _content(body: Body) -> str:
    """Return the part of an object that says what it does, as a text."""
    spec = mapping_at(body, "spec")
    return json.dumps(spec.get("rules", spec), sort_keys=True, default=str)


def cluster_source(options: InventoryOptions) -> ClusterSource | None:
    """Return the cluster or recording to read, None for files; raise InputError."""
    recordings = [Path(path) for path in options.paths if is_recording(Path(path))]
    is_cluster = options.cluster or bool(recordings)
    if not is_cluster:
        if options.context or options.record:
            raise InputError("--context and --record need --cluster")
        if not options.paths:
            raise InputError("Missing argument 'PATH…'", hint="- is standard input")
        return None
    if len(options.paths) > (0 if options.cluster else 1):
        raise InputError("a cluster is read alone", hint="leave the other PATHs out")
    if options.values or options.kube_version:
        raise InputError("-f and --kube-version are for charts, and a cluster has none")
    if recordings and (options.context or options.record):
        raise InputError("--context and --record are for a live cluster, not for a recording")
    recording = recordings[0] if recordings else None
    return ClusterSource(options.context, recording, options.named_namespace or "", options.record)


@dataclass(slots=True)
class _Files:
    """A reader of files that goes on after a file that cannot be read, and reads each once; known:
    what has been read; again: how often it was named again."""

    chart: ChartOptions
    stdin: TextIO
    note: Note
    faults: list[Diagnostic] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    known: set[Path] = field(default_factory=set)
    documents: dict[Path, Sequence[Document]] = field(default_factory=dict)
    charts: list[Path] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)
    again: int = 0
    resources: list[Resource] = field(default_factory=list)

    def read(self, paths: Sequence[str]) -> Inventory:
        objects: list[LegacyObject] = []
        for path in paths:
            before = self._progress()
            objects.extend(self._path(path))
            if before == self._progress():
                hint = "name a manifest, a folder with manifests or a chart"
                raise InputError("holds no Kubernetes object", Location(path), hint)
        if self.chart.values and not self.charts:
            raise InputError("no chart is read that takes it", Location(str(self.chart.values[0])))
        for chart in [chart for chart in self.charts if chart.name == _POLICIES_CHART][:1]:
            message = f"has parameters of a policy library: {chart} has what becomes of it"
            for fault in [fault for fault in self.faults if fault.message == _PARAMETERS]:
                self.faults.remove(fault)
                self.notes.append(scan_note(message, fault.location or Location(str(chart))))
                self.note(self.notes[-1])
        return Inventory(
            tuple(objects),
            tuple(self.faults),
            tuple(self.unread),
            self.documents,
            self.charts,
            self.resources,
            self.notes,
        )

    def _progress(self) -> tuple[int, int, int, int]:
        return len(self.resources), len(self.faults), len(self.unread), self.again

    def _is_new(self, path: Path) -> bool:
        """Report whether a file or a chart has not been read yet."""
        is_known = path.resolve() in self.known
        self.known.add(path.resolve())
        self.again += is_known
        return not is_known

    def _path(self, path: str) -> Iterator[LegacyObject]:
        if path == STDIN:
            yield from self._text(path, lambda: read_stdin(self.stdin))
            return
        where = existing(Path(path))
        if is_chart(where) or not where.is_dir():
            files: Iterable[Path] = [where]
        else:
            files = walk(where, self.faults.append, exclusion(where))
        for file in filter(self._is_new, files):
            every = not where.is_dir()
            if file.is_dir():
                yield from self._chart(file)
            else:
                yield from self._text(str(file), partial(read_file, file), every)

    def _chart(self, folder: Path) -> Iterator[LegacyObject]:
        self.charts.append(folder)
        try:
            rendered = render_inputs(folder, self.chart, self.note)
        except MissingChartError as error:
            self.unread.append(str(error))
            return
        except RenderError as error:
            self.faults.append(unread_file(folder, error))
            return
        self.resources += rendered
        legacy = list(filter(is_legacy, rendered))
        if not legacy and (template := _guarded(folder)) is not None:
            self.notes.append(template)
            self.note(template)
        yield from _read(legacy, str(folder))

    def _text(
        self, file: str, read: Callable[[], list[Document]], every: bool = True
    ) -> Iterator[LegacyObject]:
        """Yield the legacy objects of a text; every: whether each document must be an object."""
        try:
            documents = self.documents[Path(file).resolve()] = read()
            objects = [document for document in documents if every or is_object(document)]
            contents = [(document, resources([document])) for document in objects]
        except InputError as error:
            row = unread(error) if every else unread_file(Path(file), error)
            if is_unread(row):
                self.faults.append(_code_fault(file, error) or row)
            else:
                self.notes.append(row)
                self.note(row)
            return
        for document, contained in contents:
            self.resources += contained
            legacy = [item for item in contained if is_legacy(item) and not is_status(item)]
            if legacy and _has_parameters(file, document.source.text):
                self.faults.append(_parameters(legacy[0].location))
                continue
            if legacy and (code := _code(document)) is not None:
                self.faults.append(code)
                yield from (
                    replace(_legacy(item), document=document, is_code=True) for item in legacy
                )
            else:
                yield from (replace(obj, document=document) for obj in _read(legacy))


def inventory_of(found: Sequence[Resource]) -> Inventory:
    """Return the legacy objects among some that were read before, with their documents."""
    legacy = [resource for resource in found if is_legacy(resource) and not is_status(resource)]
    documents = [resource.location.places for resource in legacy]
    objects = tuple(
        replace(legacy_object, document=document if isinstance(document, Document) else None)
        for legacy_object, document in zip(_read(legacy), documents, strict=True)
    )
    return Inventory(objects, resources=found)


def is_status(resource: Resource) -> bool:
    """Report whether an object is the status that a test waits for: it has one, and no rules."""
    spec = mapping_at(resource.body, "spec")
    acts = "rules" in spec if resource.kind in POLICY_KINDS else bool(spec)
    return "status" in resource.body and not acts


def _guarded(folder: Path) -> Diagnostic | None:
    """Return a note on the first template that names a legacy kind, of a chart that renders none:
    other values may."""
    for file in sorted(folder.rglob("templates/**/*.yaml")):
        with contextlib.suppress(InputError):
            text = read_source(file)
            if (named := _LEGACY_KIND.search(text)) and _GROUP in text:
                location = Location(str(file), text.count("\n", 0, named.start()) + 1)
                hint = "name those of each environment with -f"
                return Diagnostic(OTHER_VALUES, Severity.NOTE, _NOT_WITH_THESE, location, hint)
    return None


def _read(resources: Iterable[Resource], chart: str = "") -> Iterator[LegacyObject]:
    """Yield legacy objects with the form that Kyverno takes of each, and why it refuses some."""
    for resource in resources:
        current, replaced, faults = _accepted(resource)
        legacy = _legacy(resource, chart)
        yield replace(legacy, current=current, replaced=replaced, refused=tuple(faults))


def _legacy(resource: Resource, chart: str = "") -> LegacyObject:
    return LegacyObject(resource, origin_of(resource, chart), legacy_rules(resource))


def _code(document: Document) -> Diagnostic | None:
    """Return a finding for a document of which Helm would make another one."""
    text, start = document.source.text, document.start
    line = first_code(text[start : document.end])
    if line is None:
        return None
    file = document.source.file
    return _helm_code(Location(file, text.count("\n", 0, start) + line), _chart_of(file))


def _code_fault(file: str, error: InputError) -> Diagnostic | None:
    """Return the row about a file that is not YAML for its code, None for another reason."""
    if error.location is not None and file != STDIN:
        with contextlib.suppress(InputError):
            text = read_source(file)
            line, chart = first_code(text), _chart_of(file)
            if line is not None and (chart is not None or _OF_HELM.search(text)):
                return _helm_code(Location(file, line), chart)
            if _has_parameters(file, text):
                return _parameters(error.location)
    return None


def _has_parameters(file: str, text: str) -> bool:
    return _MARK in text and (Path(file).parent / "metadata.yaml").is_file()


def _parameters(location: Location) -> Diagnostic:
    hint = "name the chart that `chartkit render` writes"
    return unread(InputError(_PARAMETERS, location, hint))


def _chart_of(file: str) -> Path | None:
    return next((path for path in Path(file).parents if is_chart(path)), None)


def _helm_code(location: Location, chart: Path | None) -> Diagnostic:
    hint = f"name a folder with {CHART_FILE}" if chart is None else f"name the chart: {chart}"
    return unread(InputError(NOT_RENDERED, location, hint))


def _accepted(resource: Resource) -> tuple[Resource | None, Sequence[str], Sequence[Diagnostic]]:
    """Return the form of an object that Kyverno accepts, None where it accepts the object as it is;
    what is replaced in it, a sentence each; and the reasons for which Kyverno refuses it all the
    same."""
    faults = _faults(resource)
    if not faults:
        return None, (), ()
    body, replaced = resource.body, list[str]()
    for replacement in (_version, _generate_existing, _webhook):
        body, sentences = replacement(body)
        replaced += sentences
    if not replaced:
        return None, (), faults
    current = Resource(body, resource.location)
    return current, replaced, _faults(current)


def _faults(resource: Resource) -> Sequence[Diagnostic]:
    try:
        if is_exception(resource):
            read_exceptions([resource])
        else:
            compile_any(resource, IN_CLUSTER)
    except CompileError as error:
        return error.diagnostics
    return ()


def _version(body: Body) -> tuple[Body, Sequence[str]]:
    """Replace a version that is not served by the newest that is."""
    old, versions = body["apiVersion"], _VERSIONS.get(str(body.get("kind")), ())
    if not versions or old in versions:
        return body, ()
    return {**body, "apiVersion": versions[0]}, [_NOT_SERVED.format(old=old, new=versions[0])]


def _generate_existing(body: Body) -> tuple[Body, Sequence[str]]:
    """Move `spec.generateExistingOnPolicyUpdate` to the rules that generate."""
    spec = mapping_at(body, "spec")
    if not isinstance(value := spec.get(_EXISTING), bool):
        return body, ()
    rules = [
        {**rule, "generate": {"generateExisting": value, **rule["generate"]}}
        if mapping_at(rule, "generate")
        else rule
        for rule in list_of(spec.get("rules"))
    ]
    kept = {key: member for key, member in spec.items() if key != _EXISTING}
    sentence = _OLD_FIELD.format(old=_EXISTING, new="generate.generateExisting of the rules")
    return {**body, "spec": {**kept, "rules": rules}}, [sentence]


def _webhook(body: Body) -> tuple[Body, Sequence[str]]:
    """Remove settings of webhooks that `spec.webhookConfiguration` has as well."""
    spec = mapping_at(body, "spec")
    webhook = mapping_at(spec, "webhookConfiguration")
    old = {
        name: newer
        for name, newer in (("webhookTimeoutSeconds", "timeoutSeconds"), ("failurePolicy",) * 2)
        if spec.get(name) is not None and webhook.get(newer) is not None
    }
    kept = {key: member for key, member in spec.items() if key not in old}
    return {**body, "spec": kept} if old else body, [
        _OLD_FIELD.format(old=name, new=f"webhookConfiguration.{newer}")
        for name, newer in old.items()
    ]
