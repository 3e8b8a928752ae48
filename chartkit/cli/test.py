"""`chartkit test`: run Kyverno's test files with the bundled engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from chartkit.cli.options import jobs_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.terminal import track
from chartkit.errors import ChartkitError

if TYPE_CHECKING:
    from chartkit.testing.model import CaseResult


_LEAST: Final = 24
"""The test files from which a second process is worth its start."""


class _Test(click.Group):
    """The command that runs tests; after the word `new`, the one that writes a test."""

    allow_interspersed_args = True
    parse_args = click.Command.parse_args
    invoke = click.Command.invoke

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and args[0] in self.commands:
            below = self.commands[args[0]]
            return below.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.group(cls=_Test, subcommand_metavar="")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "-f",
    "--file-name",
    default="kyverno-test.yaml",
    show_default=True,
    help="The name of test files.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="PATTERN",
    help="Run only the results of a policy, a POLICY/RULE or a test (its folder or its name); "
    "* and ? are wildcards; repeatable.",
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
@click.option(
    "--update",
    is_flag=True,
    help="Write expected objects (patchedResources, generatedResources) that differ as the "
    "policies make them, then run the tests.",
)
@click.option(
    "--watch", is_flag=True, help="Run the tests again whenever files change. Ctrl-C ends it."
)
def test(
    options: OutputOptions,
    paths: Sequence[str],
    file_name: str,
    select: tuple[str, ...],
    detailed: bool,
    hosts: Sequence[str],
    coverage: bool,
    jobs: int,
    update: bool,
    watch: bool,
) -> None:
    """Run the kyverno-test.yaml files at and below PATH, as `kyverno test` runs them. PATH may be a
    URL of an archive or of a git repository. `chartkit test new` writes such a file.

    Exits 1 if a result is not the expected one, 2 if a test cannot be run.
    """
    from chartkit.scan.inputs import is_remote
    from chartkit.testing.report import Options, coverage_of, report

    options.parsed(has_results=True)
    for option, is_given in (("--update", update), ("--watch", watch)):
        if is_given and any(map(is_remote, paths)):
            raise click.UsageError(f"{option} is for tests in files, not for URLs")

    def run() -> int:
        results = list(_fetched(paths, file_name, hosts, jobs, select))
        if update and _update(results):
            results = list(_fetched(paths, file_name, hosts, jobs, select))
        covered = coverage_of(results) if coverage else None
        show(report(results, Options(detailed, coverage=covered)), options)
        if any(case.error for case in results):
            return 2
        return max(case.exit_code for case in results)

    if not watch:
        raise SystemExit(run())
    from chartkit.scan.changes import repeat_on_changes

    def files() -> list[Path]:
        return watched_files([Path(path) for path in paths], file_name)

    raise SystemExit(repeat_on_changes(files, lambda _: run(), partial(click.echo, err=True)))


@test.command(short_help="Write a test of what policies say of objects.")
@click.argument(
    "objects",
    nargs=-1,
    required=True,
    metavar="OBJECTS…",
    type=click.Path(path_type=Path, exists=True),
)
@click.option(
    "-p",
    "--policies",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="A file or folder of policies; repeatable.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    show_default=True,
    help="The folder of the test, which is made if it is not there.",
)
@click.option(
    "-f",
    "--file-name",
    default="kyverno-test.yaml",
    show_default=True,
    help="The name of the test file.",
)
def new(objects: Sequence[Path], policies: Sequence[Path], folder: Path, file_name: str) -> None:
    """Write a test file that expects what policies say of OBJECTS today, one row for each rule,
    kind and result, and files with the objects that they change and generate.

    Read it before you keep it: it says what the policies do, not what they should do.
    """
    from chartkit.testing.new import new_test

    for path in new_test(folder / file_name, policies, objects):
        click.echo(f"wrote {path}")


def _update(results: Sequence[CaseResult]) -> bool:
    """Write expected objects anew; report whether any was."""
    from chartkit.testing.new import update

    written = update(results)
    for path in written:
        click.echo(f"wrote {path}", err=True)
    return bool(written)


def watched_files(paths: Sequence[Path], file_name: str) -> list[Path]:
    """Return the files and folders on which the results of tests depend."""
    from chartkit.testing.inputs import named_files
    from chartkit.testing.reader import find_tests, read_test_file

    files = dict.fromkeys(paths)
    for path in paths:
        for file in find_tests(path, file_name):
            # A test that cannot be read is a file of its own.
            with suppress(ChartkitError):
                files.update(
                    dict.fromkeys(
                        name for test in read_test_file(file) for name in named_files(test)
                    )
                )
    return [*files]


def _fetched(
    paths: Sequence[str], file_name: str, hosts: Sequence[str], jobs: int, select: tuple[str, ...]
) -> Iterator[CaseResult]:
    """Yield the results of tests at paths and URLs."""
    from chartkit.scan.inputs import is_remote
    from chartkit.scan.parallel.pool import spread
    from chartkit.testing.runner import Selection, run_tests

    run = partial(
        run_tests,
        file_name=file_name,
        track=track("testing"),
        spread=spread(jobs, _LEAST),
        selection=Selection(select),
    )
    if not any(map(is_remote, paths)):
        yield from run([Path(path) for path in paths])
        return
    from chartkit.scan.inputs.remote import RemotePaths

    remote = RemotePaths(hosts, lambda diagnostic: click.echo(str(diagnostic), err=True))
    with remote.naming():
        local = [Path(path) for path in remote.local(paths)]
        for case in run(local):
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
