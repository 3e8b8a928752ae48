"""People's own values files, checked against the engine's chart or another one, and fixed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from pathlib import Path

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine import high_availability
from chartkit.charts.plan import ChartPlan
from chartkit.documents.input_files import is_there
from chartkit.documents.reader import (
    Document,
    Source,
    empty_document,
    parse_yaml,
    read_file,
    read_text,
)
from chartkit.documents.unread import UNREADABLE, unread_at
from chartkit.errors import HelmMissingError, InputError, RenderError
from chartkit.helm.render import check_chart, render_chart
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.kyverno import matrix as compat
from chartkit.kyverno import releases
from chartkit.model import (
    Body,
    Diagnostic,
    Explanation,
    FieldPath,
    Location,
    Severity,
    mapping_at,
    pointer_of,
    pointer_steps,
    same,
)
from chartkit.output.yaml_edit import NOT_EDITABLE, rewritten, text_of
from chartkit.output.yaml_tree import Block, data_of, unwrap
from chartkit.output.yaml_tree_reader import read_tree
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_body
from chartkit.report.text.layout import grouped
from chartkit.schemas.json_schema import require_no_object, require_schema, require_single_keys
from chartkit.values.lint import OF_KEYS, ChartValues, Stage, folders, lint
from chartkit.values.lint.rules import RULES
from chartkit.values.moved import POLICIES

_SCHEMA = "values.schema.json"
_EVERYWHERE = frozenset({"", "global"})
"""Sections of values that decide what all others mean; "" is the whole."""


def check_each(
    files: Sequence[Path], chart: Path | None, highly_available: bool, is_part: bool = False
) -> list[Diagnostic]:
    """Check several values files, each by itself; see `check_files`. A file that cannot be read is
    a row; is_part: whether there are others beside these."""
    by_file: dict[str, list[Diagnostic]] = {}
    is_part = is_part or len(files) > 1
    for file in files:
        try:
            by_file[str(file)] = check_files([file], chart, highly_available)
        except UNREADABLE as error:
            if not is_part:
                raise
            by_file[str(file)] = [unread_at(Location(str(file)), error)]
    texts = {name: set(map(str, rows)) for name, rows in by_file.items()}
    diagnostics: list[Diagnostic] = []
    for name, rows in by_file.items():
        for row in rows:
            at = row.location.file if row.location is not None else ""
            if at == name or not is_part:
                diagnostics.append(row)
            elif str(row) not in texts.get(at, ()):
                # The place is in the chart's defaults, or in the values that others go on top of.
                diagnostics.append(replace(row, message=f"with {name}: {row.message}"))
    return diagnostics


def check_files(
    files: Sequence[Path], chart: Path | None, highly_available: bool
) -> list[Diagnostic]:
    """Return the faults of values files, the last of which wins.

    chart: a chart's folder, None for Kyverno's engine; highly_available: whether it must be.
    The chart is rendered without the faulty values; if it still does not render, a note says so.
    Raises InputError for files that cannot be read, RenderError if Helm refuses values without
    faults.
    """
    overlays = [_one(read_file(file), str(file)) for file in files]
    for overlay in overlays:
        require_no_object(overlay)
    owner = folders.chart_of(files[-1], chart)
    if chart is None and owner.get("name") == POLICIES:
        chart = files[-1].parent
    keys = folders.engine_keys(owner)
    another = None if keys or chart else folders.of_another_chart(owner, overlays)
    if another is not None:
        return [another]
    if not keys:
        return check_documents(overlays, chart, highly_available)
    for overlay in overlays:
        require_single_keys(overlay)
    base = (chart or files[-1].parent) / "values.yaml"
    if base.is_file() and not any(base.samefile(path) for path in files):
        overlays.insert(0, _one(read_file(base), str(base)))
    diagnostics: list[Diagnostic] = []
    for key in keys:
        parts = [folders.part_of(document, key) for document in overlays]
        for row in check_documents(parts, None, highly_available):
            # `values migrate` rewrites whole files.
            is_of_file = "values migrate" in (row.hint or "")
            diagnostics.append(replace(row, hint=None) if is_of_file else row)
    return diagnostics


def check_documents(
    overlays: Sequence[Document],
    chart: Path | None,
    highly_available: bool,
    unknown: Sequence[FieldPath] = (),
) -> list[Diagnostic]:
    """Return the faults of values, as `check_files` does of files; unknown: paths of values that
    only their deployer knows."""
    diagnostics = _check_documents(overlays, chart, highly_available)
    sections = {"/".join(map(str, path[:1])) for path in unknown}
    return [row for row in diagnostics if not sections or not _depends_on(row, sections)]


def _depends_on(finding: Diagnostic, sections: Set[str]) -> bool:
    """Report whether a finding may depend on values of these sections that are not known."""
    if finding.rule_id in OF_KEYS or finding.severity is Severity.NOTE:
        return False
    path = high_availability.values_path(finding)
    steps = path or pointer_steps(finding.location.path if finding.location else "")
    return not steps or steps[0] in sections or not sections.isdisjoint(_EVERYWHERE)


def _check_documents(
    overlays: Sequence[Document], chart: Path | None, highly_available: bool
) -> list[Diagnostic]:
    source = _engine() if chart is None else chart
    for overlay in overlays:
        require_single_keys(overlay)
    subject = ChartValues(_defaults(source), tuple(overlays), _schema(source), {})
    diagnostics = lint(subject, Stage.VALUES, Stage.REFUSED)
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    try:
        rendered = render_chart(
            source,
            [_without(overlay, errors) for overlay in subject.overlays]
            if errors
            else subject.overlays,
            release=source.name,
            namespace=engine_chart.NAMESPACE,
        )
    except (RenderError, HelmMissingError) as error:
        if not errors:
            raise
        message = f"what Helm renders was not looked at: {error.message}"
        return [*diagnostics, Diagnostic("helm", Severity.NOTE, message, error.location)]
    diagnostics = [*diagnostics, *rendered.warnings]
    more = lint(replace(subject, resources=rendered.resources), Stage.RENDERED)
    if kyverno_controllers.controllers(rendered.resources):
        judged = high_availability.judge(rendered.resources, highly_available)
        # Sections that were rendered without values, and with defaults in their place: what comes
        # of these says nothing about the values.
        places = (error.location for error in errors if error.location is not None)
        paths = [path for place in places if (path := pointer_steps(place.path))]
        defaults = subject.defaults.body
        left_out = {path[0] for path in paths if path[-1] in mapping_at(defaults, *path[:-1])}
        for finding in judged:
            # It is shown at the value that decides it.
            value_path = high_availability.values_path(finding)
            if value_path is None:
                more.append(finding)
            elif left_out.isdisjoint(value_path[:1]):
                more.append(replace(finding, location=subject.locate(value_path)))
    wrong = {diagnostic.location for diagnostic in errors}
    return [*diagnostics, *(diagnostic for diagnostic in more if diagnostic.location not in wrong)]


def _without(document: Document, errors: Sequence[Diagnostic]) -> Body:
    """A file's values without faulty ones; a list with a fault is left out whole."""
    places = (diagnostic.location for diagnostic in errors if diagnostic.location is not None)
    wrong = {location.path for location in places if location.file == document.source.file}
    pruned: Body = _pruned(document.body or {}, "", wrong)
    return pruned


def _pruned(values: Body, path: str, wrong: Set[str]) -> Body:
    kept: Body = {}
    for key, value in values.items():
        pointer = path + pointer_of(key)
        below = any(other.startswith(f"{pointer}/") for other in wrong)
        if pointer in wrong or (below and not isinstance(value, dict)):
            continue
        kept[key] = _pruned(value, pointer, wrong) if below else value
    return kept


def defaults(chart: Path | None) -> Body:
    """The default values of a chart, of the engine's where it is None; raises InputError."""
    body: Body = _defaults(_engine() if chart is None else chart).body or {}
    return body


@cache
def _engine() -> ChartPlan:
    version = releases.current().version
    return engine_chart.plan({}, compat.kube_version_range([version]))


def engine_schema() -> Body:
    """Return the JSON Schema of the values of Kyverno's engine."""
    schema: Body = json.loads(_engine().files[_SCHEMA])
    return schema


def _defaults(chart: ChartPlan | Path) -> Document:
    if isinstance(chart, ChartPlan):
        name = "<chart defaults>"
        return _one(read_text(chart.values["values.yaml"], name), name)
    file = chart / "values.yaml"
    if not (chart / "Chart.yaml").is_file():
        raise InputError("is not a chart: it has no Chart.yaml", Location(str(chart)))
    check_chart(chart)
    return _one(read_file(file) if file.is_file() else [], str(file))


def _schema(chart: ChartPlan | Path) -> Body | None:
    if isinstance(chart, ChartPlan):
        return engine_schema()
    file = chart / _SCHEMA
    if not is_there(file):
        return None
    documents = read_file(file)
    if len(documents) != 1:
        raise InputError("is not a JSON Schema", Location(str(file)), "a schema is one JSON object")
    return require_schema(documents[0])


def _one(documents: Sequence[Document], file: str) -> Document:
    if len(documents) > 1:
        raise InputError("has more than one YAML document", documents[1].location, "keep one")
    if not documents:
        return empty_document(Source(file, ""))
    if documents[0].body is not None and not isinstance(documents[0].body, dict):
        raise InputError("must be a mapping of values", Location(file, 1))
    return documents[0]


def fix_values(
    text: str, file: str, defaults: Body, keys: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Return a values file with every fix that applies, and the ids of the rules. A fix changes
    only what has no effect as it is; comments and order stay.

    file: its name in messages; defaults: the chart's own values; keys: those below which its values
    stand, none where they are the whole file. Raise InputError for a text that
    cannot be read, or not be edited without a change to other lines.
    """
    documents = read_text(text, file)
    if len(documents) != 1:
        return text, []
    require_single_keys(documents[0])
    body = documents[0].body if isinstance(documents[0].body, dict) else {}
    parts = {(key,): mapping_at(body, key) for key in keys} if keys else {(): body}
    moves: dict[str, dict[FieldPath, tuple[str, ...]]] = {}
    for rule in RULES:
        for above, values in parts.items():
            for old, new in rule.moves(values, defaults).items():
                moves.setdefault(rule.id, {})[*above, *old] = (*above, *new)
    if not moves:
        return text, []
    try:
        tree = read_tree(documents[0], keeps_aliases=True)
        # The comment at the top is of the file.
        first = tree.root.entries[0]
        tree.head, first.lead = [*tree.head, *first.lead], []
        for old, new in [pair for of_rule in moves.values() for pair in of_rule.items()]:
            if old[-1] == 0:
                entry = tree.find(new)
                assert entry is not None
                unwrap(entry)
            else:
                taken = tree.take(tuple(map(str, old)))
                parent = tree.find(new[:-1])
                if parent is not None and not data_of(parent.value):
                    parent.value = Block([])
                tree.put(new, taken)
        # Braces around everything stay.
        fixed = text_of(tree, text) if first.line else rewritten(text, tree.data(), Path(file), "")
        if not same(parse_yaml(fixed), tree.data()):
            raise InputError("an alias is of what a fix moves", documents[0].location)
    except InputError as error:
        hint = "edit it by hand: `chartkit explain` says how"
        raise InputError(f"{NOT_EDITABLE}: {error.message}", error.location, hint) from None
    return fixed, list(moves)


def report(rows: Sequence[Diagnostic], explanations: Mapping[str, Explanation]) -> CommandReport:
    """Return findings for every format; explanations: of their ids."""
    counts = Counter(diagnostic.severity for diagnostic in rows)
    totals = ", ".join(f"{severity}s: {counts[severity]}" for severity in Severity)
    return CommandReport(
        text=lambda _width: [
            *map(str, grouped(rows, severities=(Severity.NOTE,), more="-o json")),
            totals,
        ],
        value=lambda: {"findings": [diagnostic_body(diagnostic) for diagnostic in rows]},
        rows="findings",
        findings=lambda: rows,
        explanations=explanations,
    )
