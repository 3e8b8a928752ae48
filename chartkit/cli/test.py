"""`chartkit test`: run Kyverno's test files with the bundled engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.options.groups import jobs_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.terminal import track

if TYPE_CHECKING:
    from chartkit.testing.model import CaseResult


_LEAST: Final = 24
"""The test files from which a second process is worth its start."""


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "-f",
    "--file-name",
    default="kyverno-test.yaml",
    show_default=True,
    help="The name of test files.",
)
@reports()
@click.option("--detailed", is_flag=True, help="Show passed results as well.")
@click.option(
    "--allow-network",
    "hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Fetch tests whose PATH is a URL from this host, and from no other; repeatable.",
)
@jobs_option("run tests")
@click.option(
    "--coverage",
    is_flag=True,
    help="List the rules that no test reaches, that match nothing, or that never failed.",
)
def test(
    options: OutputOptions,
    paths: Sequence[str],
    file_name: str,
    detailed: bool,
    hosts: Sequence[str],
    coverage: bool,
    jobs: int,
) -> None:
    """Run the kyverno-test.yaml files at and below PATH, as `kyverno test` runs them. PATH may be a
    URL of an archive or of a git repository.

    Exits 1 if a result is not the expected one, 2 if a test cannot be run.
    """
    from chartkit.testing.coverage import coverage_of
    from chartkit.testing.report import Options, report

    options.parsed()
    results = list(_fetched(paths, file_name, hosts, jobs))
    covered = coverage_of(results) if coverage else None
    show(report(results, Options(detailed, coverage=covered)), options)
    if any(case.error for case in results):
        raise SystemExit(2)
    raise SystemExit(max(case.exit_code for case in results))


def _fetched(
    paths: Sequence[str], file_name: str, hosts: Sequence[str], jobs: int
) -> Iterator[CaseResult]:
    """Yield the results of tests at paths and URLs."""
    from chartkit.scan.inputs import is_remote
    from chartkit.scan.parallel.pool import spread
    from chartkit.testing.runner import run_tests

    steps, spreading = track("testing"), spread(jobs, _LEAST)
    if not any(map(is_remote, paths)):
        yield from run_tests(
            [Path(path) for path in paths], file_name, track=steps, spread=spreading
        )
        return
    from chartkit.scan.remote import RemotePaths

    remote = RemotePaths(hosts, lambda diagnostic: click.echo(str(diagnostic), err=True))
    with remote.naming():
        local = [Path(path) for path in remote.local(paths)]
        for case in run_tests(local, file_name, track=steps, spread=spreading):
            yield replace(
                case,
                path=remote.name(case.path),
                error=remote.text(case.error),
                rows=tuple(
                    replace(row, location=remote.location(row.location)) for row in case.rows
                ),
                diagnostics=tuple(map(remote.diagnostic, case.diagnostics)),
                policies=tuple(
                    replace(rules, key=(remote.name(rules.key[0]), *rules.key[1:]))
                    for rules in case.policies
                ),
            )
