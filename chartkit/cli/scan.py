"""`chartkit scan`: what Kyverno would say of manifests, folders and charts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from chartkit.cli.request_options import load_requests, request_options
from chartkit.model import Resource, RuleResult, Status


@click.command()
@request_options
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
@click.option("--detailed", is_flag=True, help="Show passes and skips too.")
@click.option(
    "--audit-warn", is_flag=True, help="Failures of policies that only audit are warnings."
)
def scan(outputs: Sequence[str], detailed: bool, audit_warn: bool, **given: Any) -> None:
    """Say what Kyverno would say of the objects at PATH: manifests, folders, charts, or - (stdin).

    Exits 1 where anything fails, is in error, or a policy cannot be compiled.
    """
    from chartkit.report import ReportOptions
    from chartkit.report.outputs import Output, Outputs
    from chartkit.scan.run import run_scan

    wanted = [Output.parse(text) for text in outputs]
    loaded = load_requests(given, sys.stdin)
    policies, statements = loaded.policies, loaded.statements
    facts = policies.facts(loaded.namespaces)
    options = ReportOptions(facts, detailed, colour=sys.stdout.isatty())
    reports = Outputs(wanted, options, sys.stdout)
    with _progress(len(loaded.found)) as step:

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            reports.add(resource, results)
            step()

        counts = run_scan(
            policies.policies,
            loaded.found,
            sink,
            loaded.namespaces,
            lookups=statements.lookups(policies.policies, loaded.found),
            audit_warn=audit_warn,
            values=statements.values,
            user=statements.user,
        )
    reports.finish(counts)
    raise SystemExit(_exit_code(counts, bool(policies.diagnostics)))


def _exit_code(counts: Counter[Status], broken: bool) -> int:
    return 1 if counts[Status.FAIL] or counts[Status.ERROR] or broken else 0


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A progress bar on a terminal (standard error); silent elsewhere and for short work."""
    if total < 500 or not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=total, label="scanning", file=sys.stderr) as bar:
        yield lambda: bar.update(1)
