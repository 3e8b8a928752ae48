"""`chartkit scan`: what Kyverno would say of manifests, folders and charts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from chartkit.cli.options.cluster import cluster_options, load_cluster, open_cluster
from chartkit.cli.options.registry import UnaskedImages
from chartkit.cli.options.request import Requests, load_requests, request_options
from chartkit.cli.terminal import unguarded, wants_colour
from chartkit.errors import InputError
from chartkit.model import Resource, RuleResult, Status

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Deletion
    from chartkit.report import ReportOptions
    from chartkit.report.outputs import Output
    from chartkit.scan.cluster import Surveyed
    from chartkit.scan.policies import PolicySet


@click.command()
@request_options
@cluster_options
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    default=("text",),
    metavar="FORMAT[=FILE]",
    help="text, json, policyreport, openreports, junit or markdown; repeatable; without =FILE to "
    "standard output.",
)
@click.option(
    "--json",
    "is_json",
    is_flag=True,
    help="What is at PATH is any JSON or YAML, judged by policies of evaluation mode JSON.",
)
@click.option(
    "--report-per",
    type=click.Choice(["namespace", "object"]),
    default="namespace",
    show_default=True,
    help="What each report of policyreport and openreports is about; object: as Kyverno writes "
    "them, named after the object's UID.",
)
@click.option(
    "--detailed",
    is_flag=True,
    help="Show passes and skips too, and name kinds of policies that Kyverno will remove.",
)
@click.option(
    "--audit-warn", is_flag=True, help="Failures of policies that only audit are warnings."
)
@click.option(
    "--at",
    metavar="TIME",
    help="Say, too, what cleanup policies and TTL labels delete next after TIME (now, a date or "
    "2030-01-31T12:00:00Z).",
)
def scan(outputs: Sequence[str], **given: Any) -> None:
    """Say what Kyverno would say of the objects at PATH: manifests, folders, charts, or - (stdin);
    or, with --cluster, of those of a live cluster.

    Exits 1 where anything fails, is in error, or a policy cannot be compiled; of a cluster, too,
    where something could not be read.
    """
    from chartkit.report.outputs import parse_all
    from chartkit.scan.cleanup import parse_time

    if given["is_json"] and given["at"] is not None:
        raise InputError("--at is about Kubernetes objects, and --json says that there are none")
    wanted = parse_all(outputs)
    is_split = {output.format for output in wanted} & {"policyreport", "openreports"}
    if given["report_per"] == "object" and not is_split:
        raise InputError("--report-per takes -o policyreport or -o openreports")
    time = None if given["at"] is None else parse_time(given["at"], datetime.now(UTC))
    with open_cluster(given) as reader:
        if reader is None:
            code = _scan_files(load_requests(given, sys.stdin), wanted, time, given)
        else:
            code = _scan_cluster(*load_cluster(given, reader), wanted, given)
    raise SystemExit(code)


def _scan_files(
    loaded: Requests, wanted: Sequence[Output], time: datetime | None, given: Mapping[str, Any]
) -> int:
    from chartkit.report.outputs import Output, Outputs
    from chartkit.scan.cleanup import as_lines
    from chartkit.scan.run import run_scan

    policies, statements, is_json = loaded.policies, loaded.statements, given["is_json"]
    _say_who_judges(policies, is_json)
    planned = _plan_deletions(loaded, time)
    options = _report_options(loaded, given, planned)
    reports = Outputs(wanted, options, sys.stdout)
    unasked = UnaskedImages(given)
    with _progress(len(loaded.found)) as step:

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            reports.add(resource, results)
            unasked.add(results)
            step()

        counts = run_scan(
            policies.policies,
            loaded.found,
            sink,
            loaded.namespaces,
            world=statements.world(policies.policies, () if is_json else loaded.found),
            audit_warn=given["audit_warn"],
            values=statements.values,
            user=statements.user,
            namespace_objects=loaded.namespace_objects,
            is_json=is_json,
        )
    reports.finish(counts)
    _say_what_will_go(policies, wanted, given)
    unasked.say()
    if planned is not None and time is not None:
        for line in as_lines(planned, time):
            click.echo(line, err=Output("text") not in wanted)
    return _exit_code(counts, bool(policies.diagnostics))


def _scan_cluster(
    loaded: Requests, survey: Surveyed, wanted: Sequence[Output], given: Mapping[str, Any]
) -> int:
    from chartkit.report.outputs import Output, Outputs
    from chartkit.scan.cluster_reports import Comparison
    from chartkit.scan.run import run_scan

    policies, statements = loaded.policies, loaded.statements
    _say_who_judges(policies, False)
    options = _report_options(loaded, given)
    reports = Outputs(wanted, options, sys.stdout)
    compares = given["reports"] or given["fail_on_differences"]
    comparison = Comparison(survey.reader, options) if compares else None

    unasked = UnaskedImages(given)

    def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
        reports.add(resource, results)
        unasked.add(results)
        if comparison is not None:
            comparison.add(resource, results)

    counts = run_scan(
        policies.policies,
        survey.objects(policies.policies),
        sink,
        loaded.namespaces,
        world=survey.world(statements),
        audit_warn=given["audit_warn"],
        values=statements.values,
        user=statements.user,
        namespace_objects=loaded.namespace_objects,
        plural_of=survey.reader.discovery.plural,
    )
    reports.finish(counts)
    _say_what_will_go(policies, wanted, given)
    unasked.say()
    differs = comparison is not None and bool(comparison.differences)
    for line in () if comparison is None else comparison.lines():
        click.echo(line, err=Output("text") not in wanted)
    unread = list(survey.unread())
    for line in unread:
        click.echo(line, err=True)
    broken = bool(policies.diagnostics or survey.diagnostics or unread)
    return _exit_code(counts, broken or (differs and given["fail_on_differences"]))


def _report_options(
    loaded: Requests, given: Mapping[str, Any], planned: Sequence[Deletion] | None = None
) -> ReportOptions:
    from chartkit.report import ReportOptions, ReportPer
    from chartkit.scan.cleanup import as_rows

    facts = loaded.policies.facts(loaded.namespaces)
    per = ReportPer(given["report_per"])
    deletions = None if planned is None else as_rows(planned)
    return ReportOptions(
        facts, given["detailed"], colour=wants_colour(), per=per, deletions=deletions
    )


def _say_who_judges(policies: PolicySet, is_json: bool) -> None:
    """Names policies for plain JSON where there is none, and says where there is no such policy."""
    from chartkit.engine.policies import judges_json

    for_json = [one.policy.key for one in policies.policies if judges_json(one)]
    if is_json and not for_json:
        raise InputError("no policy is of evaluation mode JSON", hint="name one with --policies")
    if for_json and not is_json:
        click.echo(f"policies of evaluation mode JSON need --json: {', '.join(for_json)}", err=True)


def _say_what_will_go(
    policies: PolicySet, wanted: Sequence[Output], given: Mapping[str, Any]
) -> None:
    """Names the kinds of policies that Kyverno will remove, where all is to be said: behind a text
    report, or else on standard error."""
    from chartkit.report.outputs import Output

    for diagnostic in policies.deprecations if given["detailed"] else ():
        click.echo(str(diagnostic), err=Output("text") not in wanted)


def _plan_deletions(loaded: Requests, time: datetime | None) -> Sequence[Deletion] | None:
    """What is deleted after a time; None without one. Lines about it stand behind a text report,
    or else on standard error, where they break none."""
    from chartkit.scan.cleanup import planned_deletions

    policies, statements = loaded.policies, loaded.statements
    if time is None:
        if policies.cleanup:
            click.echo("cleanup policies: --at TIME says what they delete", err=True)
        return None
    world = statements.world(policies.policies, loaded.found)
    planned, diagnostics = planned_deletions(
        policies.cleanup, loaded.found, time, loaded.namespaces, world
    )
    for diagnostic in diagnostics:
        click.echo(str(diagnostic), err=True)
    return planned


def _exit_code(counts: Counter[Status], broken: bool) -> int:
    return 1 if counts[Status.FAIL] or counts[Status.ERROR] or broken else 0


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A progress bar on a terminal (standard error); silent elsewhere and for short work."""
    if total < 500 or not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=total, label="scanning", file=unguarded(sys.stderr)) as bar:
        yield lambda: bar.update(1)
