"""People's own values files, checked against the engine's chart or another one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from chartkit.chart import compat, engine_chart, ha
from chartkit.chart.plan import ChartPlan
from chartkit.chart.render import render_chart
from chartkit.chart.schema import require_no_object, require_single_keys
from chartkit.chart.versions import parse_version
from chartkit.documents import Document, Source, read_file, read_text
from chartkit.errors import InputError
from chartkit.lint import REFUSED_RULES, RENDERED_RULES, VALUES_RULES, Subject, lint
from chartkit.model import Body, Diagnostic, Location, Severity

_SCHEMA = "values.schema.json"


def check_files(
    files: Sequence[Path], chart: Path | None, highly_available: bool
) -> list[Diagnostic]:
    """What is wrong with values files, the last of which wins.

    chart: a chart's folder, None for Kyverno's engine; highly_available: whether it must be.
    What Helm renders is looked at where the values alone have no error. Raises InputError for
    what cannot be read, RenderError where Helm refuses the values.
    """
    source = _engine() if chart is None else chart
    subject = _subject(source, files)
    found = lint(subject, (*VALUES_RULES, *REFUSED_RULES))
    if any(each.severity is Severity.ERROR for each in found):
        return found
    name = source.name if isinstance(source, Path) else engine_chart.CHART_NAME
    rendered = render_chart(
        source, subject.overlays, release=name, namespace=engine_chart.NAMESPACE
    )
    found += lint(replace(subject, resources=rendered.resources), RENDERED_RULES)
    if ha.controllers(rendered.resources):
        found += [
            _in_values(subject, each) for each in ha.judge(rendered.resources, highly_available)
        ]
    return found


def defaults(chart: Path | None) -> Body:
    """The default values of a chart, of the engine's where it is None; raises InputError."""
    body: Body = _defaults(_engine() if chart is None else chart).body or {}
    return body


def _engine() -> ChartPlan:
    version = parse_version(engine_chart.SUPPORTED_KYVERNO, "Kyverno")
    return engine_chart.plan({}, compat.kube_version_range([version]))


def _subject(chart: ChartPlan | Path, files: Sequence[Path]) -> Subject:
    overlays = [_one(read_file(file), str(file)) for file in files]
    for overlay in overlays:
        require_no_object(overlay)
        require_single_keys(overlay)
    return Subject(_defaults(chart), tuple(overlays), _schema(chart), {})


def _defaults(chart: ChartPlan | Path) -> Document:
    if isinstance(chart, ChartPlan):
        # Not the name alone: most people's own file has it too.
        name = f"{engine_chart.CHART_NAME}/values.yaml"
        return _one(read_text(chart.values["values.yaml"], name), name)
    file = chart / "values.yaml"
    if not (chart / "Chart.yaml").is_file():
        raise InputError("is no chart: it has no Chart.yaml", Location(str(chart)))
    return _one(read_file(file) if file.is_file() else [], str(file))


def _schema(chart: ChartPlan | Path) -> Body | None:
    if isinstance(chart, ChartPlan):
        own: Body = json.loads(chart.files[_SCHEMA])
        return own
    file = chart / _SCHEMA
    schema: Body | None = read_file(file)[0].body if file.is_file() else None
    return schema


def _one(documents: Sequence[Document], file: str) -> Document:
    if len(documents) > 1:
        raise InputError("has more than one YAML document", documents[1].location, "a values file")
    if not documents:
        return Document({}, Source(file, ""), 1, 0, 0)
    if documents[0].body is not None and not isinstance(documents[0].body, dict):
        raise InputError("must be a mapping of values", Location(file, 1))
    return documents[0]


def _in_values(subject: Subject, found: Diagnostic) -> Diagnostic:
    """A finding of what was rendered, at the value that decides it."""
    path = ha.values_path(found)
    return found if path is None else replace(found, location=subject.locate(path))
