"""The checks of files, by what they are: manifests, charts, policies, tests, chartkit.yaml."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from chartkit.addons.lsp.judging import (
    SECONDS,
    Policies,
    Problem,
    Token,
    by_file,
    is_isolated,
    note,
    problem_of,
)
from chartkit.addons.lsp.session import Session, stamp
from chartkit.documents.input_files import read_text
from chartkit.documents.reader import read_file
from chartkit.documents.unread import UNREAD
from chartkit.engine import is_policy
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.errors import ChartkitError, HelmMissingError
from chartkit.helm.kustomize import NAMES
from chartkit.helm.render import render_chart
from chartkit.helm.template_places import TemplatePlaces
from chartkit.library.policies import METADATA_FILE
from chartkit.model import Diagnostic, Resource, Severity, gathered, list_of, mapping_at
from chartkit.project.project import FILE_NAME
from chartkit.scan import DEFAULT_NAMESPACE
from chartkit.scan.ineffective import RULE
from chartkit.scan.inputs import is_manifest, objects_of
from chartkit.scan.requests import Requests
from chartkit.testing.reader import FILE_NAME as TEST_FILE
from chartkit.testing.reader import read_test_file

LARGEST: Final = 4 << 20
"""The characters of the largest text that is checked."""
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_CHART_PARTS: Final = ("templates", "crds", "charts")

Found = dict[str, list[Problem]]
_Verdicts = dict[str, tuple[Hashable, list[Problem]]]
"""The problems of a chart's templates, each with what they were made of."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A unit of checking: a file, a chart, or a chart with a values file. root: the file or
    the folder; its problems take the place of those that it had."""

    root: Path
    run: Callable[[Token], Found]


@dataclass(slots=True)
class Checks:
    """The checks of a session."""

    session: Session
    _charts: dict[Path, _Verdicts] = field(default_factory=dict)

    def subject_of(self, path: Path) -> Subject | None:
        """Return the subject to check when a file changes; None for a file that has no check."""
        chart = self.session.chart_of(path)
        parts = path.relative_to(chart).parts if chart is not None else ("",)
        is_own = len(parts) == 1 and is_manifest(path)
        check: Callable[[Path, Token], Iterator[Problem]]
        root = file = path
        if chart is not None and (parts[0] in _CHART_PARTS or is_own):
            is_values = is_own and path.name.startswith("values") and path.name != "values.yaml"
            root, file = (path, path) if is_values else (chart, chart / "Chart.yaml")
            check = partial(self.chart, path if is_values else None)
        elif not is_manifest(path):
            return None
        elif (path.parent / METADATA_FILE).is_file():
            check = self.policy
        else:
            check = {FILE_NAME: self.project, TEST_FILE: self.test}.get(path.name, self.manifest)
        return Subject(root, lambda token: _guarded(file, partial(check, file, token)))

    def manifest(self, path: Path, token: Token) -> Iterator[Problem]:
        """Yield the problems of the objects of a file, and of the policies among them."""
        file = str(path)
        objects = objects_of(read_file(path))
        if any(map(is_policy, objects)):
            yield from self.policy(path, token)
        if path in _patches(path.parent):
            yield note(RULE, "a patch of a kustomization is judged where it is built", file)
        elif objects:
            policies = self.session.policies_of(path)
            requests = Requests.of(policies.set, [*objects, *self.session.beside(path)])
            judged = policies.judge(requests.objects[: len(objects)], requests, token)
            yield from (problem for _, problems in judged for problem in problems)
            yield from _remarks(policies, token, file)

    def policy(self, path: Path, _token: Token) -> Iterator[Problem]:
        """Yield the findings of `chartkit policies lint` about the policies of a file."""
        from chartkit.catalog.authoring.lint import lint_policies
        from chartkit.catalog.policy_lint.findings import NO_LEVELS, levels
        from chartkit.project.project import read_project

        root, set_levels = self.session.project_of(path), NO_LEVELS
        with suppress(ChartkitError):
            set_levels = levels(read_project(root), self.session.env) if root else NO_LEVELS
        result = lint_policies([str(path)], levels=set_levels)
        yield from (problem_of(diagnostic, str(path)) for diagnostic in result.diagnostics)

    def test(self, path: Path, _token: Token) -> Iterator[Problem]:
        """Yield the mistakes of a test file, and the expectations that do not hold."""
        from chartkit.testing.model import Verdict
        from chartkit.testing.runner import run_test
        from chartkit.testing.sources import Sources

        for test in read_test_file(path):
            case = run_test(test, path.parent.name, Sources())
            if case.error:
                yield Problem(test.location, Severity.ERROR, "test", case.error)
            yield from (problem_of(diagnostic, str(path)) for diagnostic in case.diagnostics)
            for row in case.rows:
                if row.verdict is Verdict.FAIL:
                    message = ": ".join(filter(None, (row.resource, row.reason, row.message)))
                    yield Problem(row.location, Severity.ERROR, "test", message)

    def project(self, path: Path, _token: Token) -> Iterator[Problem]:
        """Yield the errors that `chartkit render` finds in chartkit.yaml."""
        from chartkit.charts.policies import chart as policies_chart
        from chartkit.project.project import SCHEMA, read_project
        from chartkit.schemas import json_schema

        problems = [
            problem_of(violation, str(path))
            for document in read_file(path)[:1]
            for violation in json_schema.violations(document, json_schema.load(SCHEMA))
        ]
        yield from problems
        if not problems:
            policies_chart.plan(read_project(path))

    def chart(self, values: Path | None, path: Path, token: Token) -> Iterator[Problem]:
        """Yield the problems of what Helm renders of the chart of a file; values: a file that is
        given in addition to the chart's own values."""
        chart, file = path.parent, str(path)
        policies = self.session.policies_of(path)
        environment = policies.environment
        try:
            rendered = render_chart(
                chart,
                [values] if values else [],
                namespace=DEFAULT_NAMESPACE,
                kube_version=environment.kube_version if environment else None,
                api_versions=environment.api_versions if environment else (),
            )
        except HelmMissingError as error:
            yield note(RULE, f"the chart is not judged: {error.message} ({error.hint})", file)
            return
        yield from (problem_of(warning, file) for warning in rendered.warnings)
        token.goes_on()
        verdicts = self._charts.setdefault(path, {})
        objects = (*rendered.crds, *rendered.resources, *rendered.hooks)
        placed = [in_namespace(item, DEFAULT_NAMESPACE) for item in objects]
        requests = Requests.of(policies.set, placed)
        around: Hashable = (id(policies.set), repr(requests.namespace_objects))
        if not is_isolated(requests) or requests.custom is not None:
            around = (around, hash(tuple(rendered.texts.values())))
        texts = {name.partition("/")[2]: text for name, text in rendered.texts.items()}
        templates = gathered((resource.location.file, resource) for resource in requests.objects)
        before = dict(verdicts)
        verdicts.clear()
        judged: list[Resource] = []
        for template, resources in templates.items():
            places = resources[0].location.places
            text = texts.get(places.name) if isinstance(places, TemplatePlaces) else None
            verdicts[template] = ((around, text, stamp([Path(template)])), [])
            if template in before and before[template][0] == verdicts[template][0]:
                verdicts[template] = before[template]
            else:
                judged += resources
        for resource, problems in policies.judge(_with_own_places(judged), requests, token):
            verdicts[resource.location.file][1].extend(problems)
        yield from (problem for _, problems in verdicts.values() for problem in problems)
        if token.late:
            verdicts.clear()
        yield from _remarks(policies, token, file)


def _with_own_places(resources: Sequence[Resource]) -> Iterator[Resource]:
    """Yield objects whose places are looked for in their own templates alone: the chart is rendered
    with marks for it, which takes longer the more templates there are."""
    own = [at for item in resources if isinstance(at := item.location.places, TemplatePlaces)]
    chart = own[0].chart.only({at.name: None for at in own}) if own else None
    for resource in resources:
        location = resource.location
        if isinstance(location.places, TemplatePlaces) and chart is not None:
            location = replace(location, places=replace(location.places, chart=chart))
        yield replace(resource, location=location)


def _guarded(path: Path, run: Callable[[], Iterable[Problem]]) -> Found:
    """Return the problems of a check by file, with the error that ends it."""
    file = str(path)
    problems: list[Problem] = []
    try:
        if len(read_text(path)) > LARGEST:
            text = f"is not checked: it is larger than {LARGEST >> 20} MiB"
            problems.append(note(RULE, text, file))
        else:
            problems.extend(run())
    except ChartkitError as error:
        own = Diagnostic(UNREAD, Severity.ERROR, error.message, error.location, error.hint)
        diagnostics = getattr(error, "diagnostics", None) or [own]
        problems.extend(problem_of(diagnostic, file) for diagnostic in diagnostics)
    return by_file(problems, file)


def _remarks(policies: Policies, token: Token, file: str) -> Iterator[Problem]:
    """Yield notes about the policies that judged, and about a check that took too long."""
    yield from (problem_of(remark, file) for remark in policies.notes)
    if token.late:
        yield note(RULE, f"not all objects are judged: {SECONDS:.0f} s are over", file)


def _patches(folder: Path) -> list[Path]:
    """Return the patches that the kustomization of a folder names."""
    with suppress(ChartkitError):
        files = [folder / name for name in NAMES if (folder / name).is_file()]
        bodies = [mapping_at(document.body) for file in files for document in read_file(file)]
        entries = [patch for body in bodies for key in _PATCHES for patch in list_of(body.get(key))]
        named = (entry.get("path") if isinstance(entry, dict) else entry for entry in entries)
        return [folder / name for name in named if isinstance(name, str)]
    return []
