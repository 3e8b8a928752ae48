"""Renders, lints and dry-runs charts with Helm, and gives what comes out as objects with places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from chartkit.documents.reader import Document, read_source, read_text, resources
from chartkit.errors import InputError, MissingChartError, RenderError
from chartkit.helm.backend import helm
from chartkit.helm.chart_values import Values, ValuesSource, read_values
from chartkit.helm.model import ChartError, DryRun, Finding, Target
from chartkit.helm.template_places import ChartFiles, ChartPlaces, RenderInputs, TemplatePlaces
from chartkit.model import Diagnostic, Location, Resource, Severity, mapping_at, path_step
from chartkit.output.atomic_folder import write_below
from chartkit.output.write import GeneratedChart
from chartkit.temporary import temporary_folder

HOOK = "helm.sh/hook"
WARNING_RULE = "helm-warning"
"""The id of what Helm warns of in its log, or says of a schema."""
_NOTES = "/NOTES.txt"
_WORD = 200
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")
"""Words of Helm's that are longer than any name or path: a chart may put anything into one."""
_PLACE = re.compile(r"([\w.-]+)/((?:[\w.-]+/)*[\w.-]+\.(?:yaml|yml|tpl|txt|json)):(\d+)(?::(\d+))?")
_PLACE_BEFORE = re.compile(
    r"^(?:(?:execution|parse) error at \([^)]*\): )?(?:template: )?(?:[\w./-]+:[\d:]+ )?"
)
_VALUES_TEXT = re.compile(r"error calling tpl: cannot parse template .*: template: \S+ (.*)$")
_UNDEFINED = re.compile(r'function "(\w+)" not defined')
_GIVEN = re.compile(r"request|element\w*|images?|target|serviceAccount\w*")
_VARIABLE = "write Kyverno's variables as {{ `{{ … }}` }} in a template"
_ESCAPED = (
    "there Kyverno's {{ x }} is written {{ `{{ x }}` }}; in a policy library chartkit escapes it"
)
_UNLOADED = re.compile(r"cannot load ((?:Chart|values|requirements)\.yaml): ")
_END = 400
"""The characters of both ends of a long message that are shown."""
_SCHEMA_LINE = re.compile(r"^( *)- at '([^']*)': (.+)$", re.MULTILINE)
_SCHEMA_REASON = re.compile(r"value must be '([^']* [^']*)'")
_SCHEMA_KEY = re.compile(r"'([^']*)'")
_SEPARATOR = re.compile(r"^---[ \t]*(?=\S)", re.MULTILINE)
"""Where Helm separates manifests although YAML goes on with the line: `---# a comment`."""
_KIND = re.compile(r"^kind: *(\S.*?)\s*$", re.MULTILINE)
_LOGGED = 0
_SEVERITIES = {_LOGGED: Severity.NOTE, 1: Severity.NOTE, 2: Severity.WARNING, 3: Severity.ERROR}


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """The result of rendering a chart.

    resources: what Helm installs, in the order of the templates' names; hooks: what it runs at
    certain moments; crds: what stands below `crds/`; texts: the rendered text by template, as
    Helm gives it; notes: what an installation prints; warnings: Helm's own. A resource's place is
    its template, at the line that names its kind.
    """

    resources: tuple[Resource, ...]
    hooks: tuple[Resource, ...]
    crds: tuple[Resource, ...]
    texts: Mapping[str, str] = field(repr=False)
    notes: str = field(default="", repr=False)
    warnings: tuple[Diagnostic, ...] = ()


def render_chart(
    chart: Path | GeneratedChart,
    values_files: Sequence[ValuesSource] = (),
    *,
    release: str = "release",
    namespace: str = "default",
    kube_version: str | None = None,
    api_versions: Sequence[str] = (),
    shown: Path | None = None,
) -> RenderedChart:
    """Renders a chart folder, or a plan with its values.yaml, as `helm template` does.

    values_files: values files or values, the last wins; kube_version: `v1.34.0`; api_versions:
    what the cluster has besides; shown: the folder that messages speak of in place of chart.
    Chart.yaml's kubeVersion is not enforced: that is `dry_run`. Raises RenderError, or InputError
    for a values file that cannot be used, with the place in the template or values file.
    """
    values = read_values(values_files)
    target = Target(release, namespace, kube_version or "", tuple(api_versions))
    with _chart_folder(chart, shown) as (folder, name):
        with _explained(folder, name, values):
            answer = helm().render(folder, values.merged, target)
            # For CRDs, Helm loads the chart once more.
            may_have_crds = (folder / "crds").is_dir() or (folder / "charts").is_dir()
            crds = helm().crds(folder) if may_have_crds else {}
        rendered = answer.files
        texts = {file: text for file, text in rendered.items() if not file.endswith(_NOTES)}
        inputs = RenderInputs(folder, name, values.merged, values.documents, target)
        objects = _objects(texts, folder, name, inputs if folder == chart else None)
        # The chart's own notes: Helm prints those of subcharts where it is asked to.
        notes = (file for file in rendered if file.endswith(f"/templates{_NOTES}"))
        return RenderedChart(
            resources=tuple(resource for resource in objects if not is_hook(resource)),
            hooks=tuple(resource for resource in objects if is_hook(resource)),
            crds=tuple(_objects(crds, folder, name)),
            texts=texts,
            notes=next((rendered[file] for file in notes if file.count("/") == 2), ""),
            warnings=tuple(_warning(text, name) for text in answer.warnings),
        )


def dry_run(
    chart: Path | GeneratedChart,
    values_files: Sequence[ValuesSource] = (),
    *,
    release: str = "release",
    namespace: str = "default",
    kube_version: str | None = None,
    api_versions: Sequence[str] = (),
    shown: Path | None = None,
) -> DryRun:
    """Return the result of `helm install --dry-run=client` on a cluster of this version. Raises
    RenderError where the chart does not admit the version (Chart.yaml's kubeVersion), where its
    schema refuses the values, or where it does not render."""
    values = read_values(values_files)
    target = Target(release, namespace, kube_version or "", tuple(api_versions))
    with _chart_folder(chart, shown) as (folder, name), _explained(folder, name, values):
        return helm().dry_run(folder, values.merged, target)


def admit(
    chart: Path, *, namespace: str = "default", kube_version: str, shown: Path | None = None
) -> None:
    """Raises RenderError, as `dry_run` does, where the chart does not admit a cluster of this
    version. For a chart that names no dependencies and is known to render."""
    target = Target(chart.name, namespace, kube_version)
    with _explained(chart, shown or chart, Values({}, ())):
        helm().admit(chart, target)


def check_chart(chart: Path) -> None:
    """Raises RenderError for a chart that leads out of its folder, by links or by references of its
    schema; whatever asks Helm of a chart has it checked."""
    with _explained(chart, chart, Values({}, ())):
        helm().check(chart)


def lint_chart(
    chart: Path | GeneratedChart,
    values_files: Sequence[ValuesSource] = (),
    *,
    namespace: str = "default",
    kube_version: str | None = None,
    shown: Path | None = None,
    schema: bool = True,
) -> list[Diagnostic]:
    """Return the messages of `helm lint` with these values; infos become notes. schema: whether it
    has to look at values.schema.json, where nothing else renders the chart."""
    values = read_values(values_files)
    target = Target("release", namespace, kube_version or "")
    with _chart_folder(chart, shown) as (folder, name):
        with _explained(folder, name, values):
            findings = helm().lint(folder, values.merged, target, schema)
        return [_diagnostic(finding, folder, name, values) for finding in findings]


def is_hook(resource: Resource) -> bool:
    """Report whether an object is a hook."""
    return bool(hook_moments(resource))


def hook_moments(resource: Resource) -> frozenset[str]:
    """The moments at which Helm runs an object (`pre-delete`, `test` …); none for no hook."""
    text = mapping_at(resource.body, "metadata", "annotations").get(HOOK)
    return frozenset(part.strip() for part in str(text).split(",")) if text else frozenset()


@contextmanager
def _chart_folder(chart: Path | GeneratedChart, shown: Path | None) -> Iterator[tuple[Path, Path]]:
    """The folder to render from, and the one that messages speak of."""
    if isinstance(chart, Path):
        yield chart, shown or chart
        return
    with temporary_folder() as parent:
        folder = parent / chart.name
        write_below(folder, {**chart.files, **chart.values})
        yield folder, shown or Path(chart.name)


@contextmanager
def _explained(folder: Path, shown: Path, values: Values) -> Iterator[None]:
    """Give Helm's errors their location."""
    try:
        yield
    except MissingChartError as error:
        where = error.location or Location("")
        where = replace(where, file=str(shown / where.file), places=None)
        raise MissingChartError(error.message, where, error.hint) from None
    except ChartError as error:
        where = Location(str(shown / error.file))
        raise RenderError(error.message, where, error.hint) from None
    except RenderError as error:
        text = _LONG_WORD.sub(lambda word: f"{word[0][:_WORD]}…", error.message)
        location, message, hint = _explain(text, folder, shown, values)
        raise RenderError(message, location, error.hint or hint) from None


def _explain(
    text: str, folder: Path, shown: Path, values: Values
) -> tuple[Location, str, str | None]:
    refused = _SCHEMA_LINE.findall(text)
    if refused:
        # The first thing that the schema refuses: of nested reasons, the one farthest in
        tops = [at for at, (indent, _, _) in enumerate(refused) if not indent] or [0]
        first = refused[tops[0] : tops[1] if len(tops) > 1 else None]
        _, pointer, problem = max(first, key=lambda line: len(line[0]))
        steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
        path: list[str | int] = [*map(path_step, steps)]
        if problem.startswith("additional properties"):
            path.extend(_SCHEMA_KEY.findall(problem)[:1])
        location = values.locate(path) or Location(str(shown / "values.yaml"))
        name = ".".join(map(str, path)) or "the values"
        more = f"and {len(tops) - 1} more of the kind" if len(tops) > 1 else None
        reason = _SCHEMA_REASON.fullmatch(problem)
        why = reason[1] if reason else problem
        return location, f"the chart's schema refuses '{name}': {why}", more
    places = _PLACE.finditer(text)
    files = ChartFiles(folder, shown)
    match = next((candidate for candidate in places if files.path(candidate[2]).exists()), None)
    message = " ".join(text.split())
    if match:
        location = Location(files.name(match[2]), int(match[3]), int(match[4] or 0))
        in_values = _VALUES_TEXT.search(message)
        if in_values:
            return location, f"Helm cannot run a text of the values: {in_values[1]}", _ESCAPED
        said = f"Helm cannot render the chart: {_brief(_PLACE_BEFORE.sub('', message))}"
        called = _UNDEFINED.search(message)
        is_variable = False
        if called is not None:
            from chartkit.engine.jmespath.functions import FUNCTIONS

            is_variable = called[1] in FUNCTIONS or _GIVEN.fullmatch(called[1]) is not None
        return location, said, _VARIABLE if is_variable else None
    refusal = f"Helm refuses the chart: {_brief(message)}"
    unloaded = _UNLOADED.search(message)
    if unloaded is None:
        return Location(str(shown)), refusal, None
    file = str(shown / unloaded[1])
    try:
        read_text(read_source(folder / unloaded[1]), file)
    except InputError as error:
        return error.location or Location(file), refusal, error.hint
    return Location(file), refusal, None


def _brief(message: str) -> str:
    """Return a message, of a long one both ends: a template may include itself."""
    return message if len(message) <= 2 * _END else f"{message[:_END]} … {message[-_END:]}"


def _warning(text: str, shown: Path) -> Diagnostic:
    return Diagnostic(WARNING_RULE, Severity.NOTE, f"Helm warns: {text}", Location(str(shown)))


def _diagnostic(finding: Finding, folder: Path, shown: Path, values: Values) -> Diagnostic:
    if finding.severity == _LOGGED:
        return _warning(finding.message, shown)
    location, message, hint = _explain(finding.message, folder, shown, values)
    if location.line == 0:
        location = Location(str(shown / finding.path) if finding.path else str(shown))
        message = " ".join(finding.message.split())
    return Diagnostic("helm-lint", _SEVERITIES[finding.severity], message, location, hint)


def _objects(
    texts: Mapping[str, str], folder: Path, shown: Path, inputs: RenderInputs | None = None
) -> list[Resource]:
    """Return the objects of rendered texts, in the order of the templates' names; inputs: of the
    render, None where fields have no places."""
    files = ChartFiles(folder, shown)
    documents = {_inside(name): _read(name, texts[name], files) for name in sorted(texts)}
    chart = None if inputs is None else ChartPlaces(inputs, documents, files)
    return [
        resource
        for name, parts in documents.items()
        for resource in _resources(name, parts, files, chart)
    ]


def _inside(name: str) -> str:
    return name.partition("/")[2] or name


def _read(name: str, text: str, files: ChartFiles) -> tuple[Document, ...]:
    file = files.name(_inside(name))
    try:
        return _documents(_SEPARATOR.sub("---\n", text), file)
    except InputError as error:
        raise _unreadable(file, error) from None


def _unreadable(file: str, error: InputError) -> RenderError:
    hint = error.hint or "`helm template` shows the text"
    message = f"renders to what Kubernetes cannot read: {error.message}"
    return RenderError(message, Location(file), hint)


def _resources(
    name: str, documents: Sequence[Document], files: ChartFiles, chart: ChartPlaces | None
) -> Iterator[Resource]:
    shown = files.name(name)
    # The first line of a template that names each kind
    lines: dict[str, int] = {}
    with suppress(InputError):
        text = read_source(files.path(name))
        for match in _KIND.finditer(text):
            lines.setdefault(match[1], text.count("\n", 0, match.start()) + 1)
    for number, document in enumerate(documents):
        try:
            objects = resources([document])
        except InputError as error:
            raise _unreadable(shown, error) from None
        for resource in objects:
            location = Location(shown, lines.get(resource.kind, 1), 0, resource.location.path)
            places = None if chart is None else TemplatePlaces(chart, name, number, location)
            yield Resource(resource.body, replace(location, places=places))


@lru_cache(maxsize=1024)
def _documents(text: str, file: str) -> tuple[Document, ...]:
    """Environments share most of their texts, CRDs above all: each is read once."""
    return tuple(read_text(text, file))
