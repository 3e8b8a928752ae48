"""`chartkit migrate`: leave ClusterPolicy and the other policies of kyverno.io behind."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Final

import click

from chartkit.addons.migrate.options import ConversionOptions, MigrationOptions
from chartkit.addons.migrate.values.command import migrate_values
from chartkit.cli.options import (
    CHART_OPTIONS,
    Choice,
    context_option,
    helm_option,
    jobs_option,
    number_option,
    record_option,
    takes,
)
from chartkit.cli.options.output import TEXT, Notes, OutputOptions, reports, show
from chartkit.cli.terminal import progress, take_back


@click.group()
def migrate() -> None:
    """Migrate policies of kyverno.io to policies.kyverno.io, and values of older charts."""


migrate.add_command(migrate_values, "values")


INVENTORY_OPTIONS: Final = (
    click.option(
        "-f",
        "--values",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A values file for the charts among the paths; the last one wins; repeatable.",
    ),
    *CHART_OPTIONS,
    click.option(
        "--cluster",
        is_flag=True,
        help="Read a live cluster, read-only, instead of PATH. A PATH that --record wrote is read "
        "as a cluster without this option.",
    ),
    context_option,
    record_option,
    helm_option(),
)
_INPUTS: Final = (click.argument("paths", nargs=-1, metavar="PATH…"), *INVENTORY_OPTIONS)
_CONVERSION: Final = (
    click.option(
        "--to",
        "kinds",
        type=Choice(["vap", "map"]),
        multiple=True,
        help="Convert to ValidatingAdmissionPolicies (vap) or MutatingAdmissionPolicies (map) of "
        "Kubernetes, with their bindings, where a policy needs nothing of Kyverno; repeatable.",
    ),
    click.option(
        "--deletions",
        type=Choice(["drop", "keep"]),
        default="drop",
        show_default=True,
        help="Whether new policies judge deletions where rules do that say nothing of operations: "
        "deny rules and those in CEL.",
    ),
    click.option(
        "--split/--no-split",
        default=True,
        show_default=True,
        help="Convert the rules of a policy of which another is left, and take them out of it; or "
        "leave such a policy as it is.",
    ),
    click.option(
        "--prove/--no-prove",
        default=True,
        show_default=True,
        help="Ask both forms of each policy about the same requests, and keep the old form where "
        "their answers differ.",
    ),
    number_option(
        "--proof-seconds",
        (0.1, None),
        None,
        "The processor time for the proof of one policy. Default: 2,500 requests, which take about "
        "a second.",
        unit="N",
    ),
    click.option(
        "--objects",
        multiple=True,
        metavar="PATH",
        help="Manifests, a folder, a chart or a recording of a cluster, whose objects both forms "
        "are asked about as well; repeatable.",
    ),
    click.option(
        "--allow-difference",
        "allowed",
        multiple=True,
        metavar="POLICY=REASON",
        help="Take the new form of a policy although the proof finds a difference; repeatable.",
    ),
    jobs_option("convert and prove policies"),
)


@migrate.command("plan", short_help="List the policies of kyverno.io, and what to do about each.")
@takes(
    ConversionOptions,
    *_INPUTS,
    *_CONVERSION,
)
@reports()
def plan_migration(options: ConversionOptions, outputs: OutputOptions) -> None:
    """List the policies of kyverno.io, which Kyverno 1.20's chart refuses, and what `migrate
    policies` makes of each rule with the same options. PATH is a manifest, a folder, a chart, -
    (stdin), or a recording of a cluster; --cluster reads a live one.

    Exits 1 if there is any, or if something of a cluster cannot be read, 2 for files that cannot be
    read, Helm code outside charts, and policies that Kyverno refuses.
    """
    from chartkit.addons.migrate.plan.planned import make_plan
    from chartkit.addons.migrate.plan.report import report

    outputs.parsed()
    stderr = partial(click.echo, err=True)
    steps = partial(progress, "proving" if options.prove else "converting")
    plan = make_plan(options, sys.stdin, Notes(), steps)
    show(report(plan), outputs)
    for fault in plan.faults:
        stderr(str(fault))
    raise SystemExit(plan.exit_code)


@migrate.command("policies", short_help="Convert policies of kyverno.io to policies.kyverno.io.")
@takes(
    MigrationOptions,
    *_INPUTS,
    click.option(
        "--output",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Write a file of the same name for each legacy file; standard output if not given.",
    ),
    click.option("--write", is_flag=True, help="Write the new policies in place of the old ones."),
    click.option(
        "--check",
        is_flag=True,
        help="Write nothing, and exit 1 if something would change or is left to be done by hand.",
    ),
    *_CONVERSION,
)
@reports("-o")
def migrate_policies(options: MigrationOptions, outputs: OutputOptions) -> None:
    """Convert policies of kyverno.io to policies.kyverno.io, and prove that both forms do the same.
    PATH is a manifest, a folder, a chart, - (stdin), or a recording of a cluster.

    The text format is the new policies, with a table on standard error.

    A rule without an exact form stays as it is, with the reason as a comment. Exits 1 if a rule
    stays or the proof finds a difference, 2 for files that cannot be read and Helm code outside
    charts, when nothing is written, and for policies that Kyverno refuses.
    """
    from chartkit.addons.migrate.files.report import report, text
    from chartkit.addons.migrate.files.run import migrate, write
    from chartkit.report.command_report import text_of
    from chartkit.report.text.layout import PLAIN

    is_text = TEXT in outputs.parsed()
    stderr = partial(click.echo, err=True)
    steps = partial(progress, "migrating")
    if options.write or options.folder is not None:
        take_back(*map(Path, options.inventory.paths), *filter(None, [options.folder]))
    notes = Notes()
    migration = migrate(options, sys.stdin, notes, steps)
    for fault in migration.inventory.findings:
        stderr(str(fault))
    if migration.inventory.faults:
        stderr("nothing was converted: correct these, or name other PATHs")
    else:
        write(migration, options)
    if is_text and not migration.inventory.faults:
        if not (options.check or options.write or options.folder):
            click.echo(migration.text, nl=False)
        click.echo("".join(text_of(text(migration), PLAIN)), nl=False, err=True)
    show(report(migration), outputs, without=TEXT)
    code = migration.exit_code(options.check)
    raise SystemExit(max(code, notes.exit_code(False)))
