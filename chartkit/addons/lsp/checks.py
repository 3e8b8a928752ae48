"""The checks of files, by what they are: manifests, charts, policies, tests, chartkit.yaml."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.addons.lsp.judging import SECONDS, Policies, Token
from chartkit.addons.lsp.problems import (
    Problem,
    by_file,
    note,
    problem_of,
    problems_of_error,
)
from chartkit.addons.lsp.session import Kept, Session, stamp
from chartkit.documents.input_files import read_text
from chartkit.documents.reader import read_file
from chartkit.engine import is_policy
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.errors import ChartkitError, HelmMissingError
from chartkit.helm.render import RenderedChart, render_chart
from chartkit.helm.template_places import TemplatePlaces
from chartkit.library.policies import METADATA_FILE
from chartkit.model import Location, Resource, Severity, mapping_at
from chartkit.project.project import FILE_NAME
from chartkit.scan import DEFAULT_NAMESPACE
from chartkit.scan.inputs import is_manifest, objects_of
from chartkit.testing.reader import FILE_NAME as TEST_FILE
from chartkit.testing.reader import read_test_file

LARGEST: Final = 4 << 20
"""The characters of the largest text that is checked."""
_INPUT: Final = "input"
_CHARTS: Final = 8
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CHART_PARTS: Final = ("templates", "crds", "charts")

Found = dict[str, list[Problem]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked as a whole: a file, or a chart with the values file that is edited.

    key: names it; its problems take the place of those that it had; root: the file, or the folder
    of the chart.
    """

    key: str
    root: Path
    run: Callable[[Token], Found]


@dataclass(slots=True)
class _ChartVerdicts:
    """The problems of a chart's templates, each with what they were made of."""

    templates: dict[str, tuple[Hashable, list[Problem]]] = field(default_factory=dict)


@dataclass(slots=True)
class Checks:
    """The checks of a session."""

    session: Session
    _charts: Kept[_ChartVerdicts] = field(default_factory=lambda: Kept(_CHARTS))

    def subject_of(self, path: Path) -> Subject | None:
        """Return what is checked when a file changes; None for a file that has no check."""
        chart = self.session.chart_of(path)
        if chart is not None and _is_of_chart(path, chart):
            values = _values_of(path, chart)
            key = f"{chart}?{values.name}" if values else str(chart)
            return Subject(key, chart, lambda token: self.chart(chart, values, token))
        checks: dict[str, Callable[[Path, Token], Iterator[Problem]]] = {
            FILE_NAME: self.project,
            TEST_FILE: self.test,
        }
        check = checks.get(path.name)
        if check is None and (path.parent / METADATA_FILE).is_file() and is_manifest(path):
            check = self.library_policy
        if check is None and is_manifest(path):
            check = self.manifest
        if check is None:
            return None
        chosen = check
        return Subject(str(path), path, lambda token: _guarded(path, lambda: chosen(path, token)))

    def manifest(self, path: Path, token: Token) -> Iterator[Problem]:
        """Yield the problems of the objects of a file, and of the policies among them."""
        file = str(path)
        objects = objects_of(read_file(path))
        if not objects:
            return
        if any(map(is_policy, objects)):
            yield from self.library_policy(path, token)
        if any(path == patch for patch in _patches(path)):
            yield note(_INPUT, "a patch of a kustomization is judged where it is built", file)
            return
        policies = self.session.policies_of(path)
        yield from _notes(policies)
        requests = policies.requests([*objects, *self.session.beside(path)])
        for _, found in policies.judge(requests.objects[: len(objects)], requests, token):
            yield from found
        if token.late:
            yield note(_INPUT, f"not all objects are judged: {SECONDS:.0f} s are over", file)

    def library_policy(self, path: Path, _token: Token) -> Iterator[Problem]:
        """Yield what `chartkit policies lint` says of the policies of a file."""
        from chartkit.catalog.authoring.lint import lint_policies
        from chartkit.catalog.policy_lint.levels import NO_LEVELS, levels
        from chartkit.project.project import read_project

        root = self.session.project_of(path)
        set_levels = NO_LEVELS
        if root is not None:
            try:
                set_levels = levels(read_project(root), self.session.env)
            except ChartkitError:
                set_levels = NO_LEVELS
        for diagnostic in lint_policies([str(path)], levels=set_levels).diagnostics:
            yield problem_of(diagnostic, str(path))

    def test(self, path: Path, _token: Token) -> Iterator[Problem]:
        """Yield the mistakes of a test file, and the expectations that do not hold."""
        from chartkit.testing.model import Verdict
        from chartkit.testing.runner import run_test
        from chartkit.testing.sources import Sources

        for test in read_test_file(path):
            case = run_test(test, path.parent.name, Sources())
            if case.error:
                location = Location(str(path), test.location.line)
                yield Problem(location, Severity.ERROR, "test", case.error)
            yield from (problem_of(each, str(path)) for each in case.diagnostics)
            for row in case.rows:
                if row.verdict is Verdict.FAIL:
                    message = f"{row.resource}: {row.reason}"
                    message += f": {row.message}" if row.message else ""
                    yield Problem(row.location, Severity.ERROR, "test", message)

    def project(self, path: Path, _token: Token) -> Iterator[Problem]:
        """Yield what `chartkit render` refuses of chartkit.yaml."""
        from chartkit.charts.policies import chart as policies_chart
        from chartkit.project.project import SCHEMA, read_project
        from chartkit.schemas import json_schema

        documents = read_file(path)
        for document in documents[:1]:
            found = json_schema.violations(document, json_schema.load(SCHEMA))
            yield from (problem_of(each, str(path)) for each in found)
            if found:
                return
        project = read_project(path)
        policies_chart.plan(project)

    def chart(self, chart: Path, values: Path | None, token: Token) -> Found:
        """Return the problems of what Helm renders of a chart; values: a file that is given in
        addition to the chart's own values."""
        file = str(values or chart / "Chart.yaml")
        return _guarded(Path(file), lambda: self._chart(chart, values, token))

    def _chart(self, chart: Path, values: Path | None, token: Token) -> Iterator[Problem]:
        policies = self.session.policies_of(chart / "Chart.yaml")
        yield from _notes(policies)
        environment = policies.environment
        file = str(chart / "Chart.yaml")
        try:
            rendered = render_chart(
                chart,
                [values] if values else [],
                namespace=DEFAULT_NAMESPACE,
                kube_version=environment.kube_version if environment else None,
                api_versions=environment.api_versions if environment else (),
            )
        except HelmMissingError as error:
            yield note(_INPUT, f"the chart is not judged: {error.message} ({error.hint})", file)
            return
        yield from (problem_of(each, file) for each in rendered.warnings)
        token.goes_on()
        verdicts = self._charts.get((chart, values), 0, _ChartVerdicts)
        yield from _of_templates(rendered, policies, verdicts, token)
        if token.late:
            yield note(_INPUT, f"not all objects are judged: {SECONDS:.0f} s are over", file)


def _of_templates(
    rendered: RenderedChart, policies: Policies, verdicts: _ChartVerdicts, token: Token
) -> Iterator[Problem]:
    """Yield the problems of the objects of a chart. Those of templates are kept until the template,
    what comes of it, or what its policies see changes."""
    found = (*rendered.crds, *rendered.resources, *rendered.hooks)
    objects = [in_namespace(resource, DEFAULT_NAMESPACE) for resource in found]
    requests = policies.requests(objects)
    around: Hashable = (id(policies), repr(requests.namespace_objects))
    if not policies.is_isolated(requests) or requests.custom is not None:
        around = (around, hash(tuple(rendered.texts.values())))
    texts = {name.partition("/")[2]: text for name, text in rendered.texts.items()}
    by_template: dict[str, list[Resource]] = {}
    for resource in objects:
        by_template.setdefault(resource.location.file, []).append(resource)
    before, verdicts.templates = verdicts.templates, {}
    changed: dict[str, Hashable] = {}
    for template, resources in by_template.items():
        places = resources[0].location.places
        text = texts.get(places.name, "") if isinstance(places, TemplatePlaces) else ""
        made_of = (around, hash(text), stamp([Path(template)]))
        known = before.get(template)
        if known is not None and known[0] == made_of:
            verdicts.templates[template] = known
        else:
            changed[template] = made_of
    judged = [one for template in changed for one in by_template[template]]
    fresh: dict[str, list[Problem]] = {template: [] for template in changed}
    for resource, problems in policies.judge(_with_own_places(judged), requests, token):
        fresh[resource.location.file] += problems
    if not token.late:
        for template, problems in fresh.items():
            verdicts.templates[template] = (changed[template], problems)
    for template in by_template:
        yield from fresh.get(template) or verdicts.templates.get(template, (0, []))[1]


def _with_own_places(resources: Sequence[Resource]) -> Iterator[Resource]:
    """Yield objects whose places are looked for in their own templates alone: the chart is rendered
    with marks for it, which takes longer the more templates there are."""
    places = [one.location.places for one in resources]
    templates = [each for each in places if isinstance(each, TemplatePlaces)]
    if not templates:
        yield from resources
        return
    whole = templates[0].chart
    names = dict.fromkeys(each.name for each in templates)
    own = whole.only(names)
    for resource in resources:
        location = resource.location
        if isinstance(location.places, TemplatePlaces):
            location = replace(location, places=replace(location.places, chart=own))
        yield replace(resource, location=location)


def _guarded(path: Path, run: Callable[[], Iterable[Problem]]) -> Found:
    """Return the problems of a check by file, with the error that ends it."""
    file = str(path)
    found: list[Problem] = []
    try:
        if len(read_text(path)) > LARGEST:
            found.append(
                note(_INPUT, f"is not checked: it is larger than {LARGEST >> 20} MiB", file)
            )
        else:
            found.extend(run())
    except ChartkitError as error:
        found.extend(problems_of_error(error, file, _INPUT))
    return by_file(found, file)


def _notes(policies: Policies) -> Iterator[Problem]:
    yield from (problem_of(diagnostic, file) for file, diagnostic in policies.notes if file)


def _is_of_chart(path: Path, chart: Path) -> bool:
    """Report whether Helm reads a file of a chart's folder: the metadata, values and templates."""
    parts = path.relative_to(chart).parts
    return parts[0] in _CHART_PARTS or (len(parts) == 1 and is_manifest(path))


def _values_of(path: Path, chart: Path) -> Path | None:
    """Return a values file beside the chart's own, None for any other file."""
    name = path.name
    is_other = path.parent == chart and name.startswith("values") and name != "values.yaml"
    return path if is_other and is_manifest(path) else None


def _patches(path: Path) -> Iterator[Path]:
    """Yield the patches that a kustomization beside a file, or above it, names."""
    for folder in (path.parent, path.parent.parent):
        for name in _KUSTOMIZATIONS:
            if not (folder / name).is_file():
                continue
            try:
                bodies = [document.body for document in read_file(folder / name)]
            except ChartkitError:
                continue
            for body, key in ((body, key) for body in bodies for key in _PATCHES):
                for entry in mapping_at(body).get(key) or ():
                    named = entry.get("path") if isinstance(entry, dict) else entry
                    if isinstance(named, str) and "\n" not in named:
                        yield folder / named
