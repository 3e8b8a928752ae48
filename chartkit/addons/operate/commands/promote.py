"""`chartkit promote`: from Audit to Enforce by evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chartkit.cli.options import context_option, helm_option, number_option, project_option, takes
from chartkit.cli.options.output import TEXT, OutputOptions, reports, show
from chartkit.cli.terminal import take_back

if TYPE_CHECKING:
    from chartkit.addons.operate.promote.model import PromoteOptions


@click.command()
@takes(
    "chartkit.addons.operate.promote.model:PromoteOptions",
    click.argument("policies", nargs=-1, metavar="[POLICY…]"),
    click.option("--candidates", is_flag=True, help="Look at all policies that only audit."),
    click.option(
        "--from",
        "source",
        metavar="ENV",
        help="With --candidates: only policies that this environment enforces.",
    ),
    click.option(
        "--to", "target", required=True, metavar="ENV", help="The environment to promote in."
    ),
    click.option(
        "--namespaces",
        multiple=True,
        metavar="NAME",
        help="Promote in namespaces of this name alone, * for any letters; repeatable.",
    ),
    click.option(
        "--evidence",
        multiple=True,
        metavar="PATH",
        help="Manifests, a chart, a recording of a cluster, or PolicyReports; repeatable.",
    ),
    click.option("--cluster", is_flag=True, help="Read a live cluster and its reports, read-only."),
    context_option,
    click.option(
        "--policy-reporter",
        "reporter",
        metavar="URL",
        help="Read results from policy-reporter's API, such as http://localhost:8080.",
    ),
    click.option(
        "--allow-network",
        "allowed_hosts",
        multiple=True,
        metavar="HOST[:PORT]",
        help="Let chartkit call policy-reporter at this host, and no other; repeatable.",
    ),
    number_option(
        "--days",
        (1, 3650),
        None,
        "Hold back policies whose reports do not reach back N days.",
        unit="N",
    ),
    click.option(
        "--owner-label",
        default="team",
        show_default=True,
        metavar="LABEL",
        help="The label of objects, or their namespaces, that names their owner.",
    ),
    click.option(
        "--unmatched", is_flag=True, help="Promote policies that no object was found for, too."
    ),
    click.option(
        "--with-exceptions",
        is_flag=True,
        help="Promote, with an exception for each object that would be refused.",
    ),
    number_option("--exception-days", (1, 3650), 90, "How long the exceptions hold.", unit="N"),
    click.option("--back", is_flag=True, help="Take the last promotion of the policies back."),
    click.option(
        "--write",
        is_flag=True,
        help="Change chartkit.yaml and promotions.yaml; without this option the plan is printed.",
    ),
    project_option,
    helm_option(),
)
@reports("-o", "--output")
def promote(options: PromoteOptions, outputs: OutputOptions) -> None:
    """Plan which policies can go from Audit to Enforce, and carry the plan out with --write.

    Evidence is the engine's answers about the workloads of chartkit.yaml, other manifests and
    clusters, and what Kyverno reported. A policy is held back while any object would be refused or
    cannot be decided. `-o markdown` is the text of a pull request.

    Exits 1 if a POLICY is held back, or no candidate is ready, and 2 if an input cannot be read;
    then nothing is written.
    """
    from chartkit.addons.operate.promote import promote as planned
    from chartkit.addons.operate.promote import write
    from chartkit.addons.operate.promote.report import report
    from chartkit.documents.unread import EXIT_CODE
    from chartkit.project.project import read_project

    outputs.parsed()
    if options.write:
        take_back(options.path if options.path.is_dir() else options.path.parent)
    promotion = planned(options)
    show(report(promotion), outputs)
    if promotion.is_refused:
        raise SystemExit(EXIT_CODE if promotion.plan.unread else 1)
    if options.write:
        write(promotion, read_project(options.path).root)
    if TEXT in outputs.parsed():
        for file, text in promotion.files.items() if options.write else ():
            click.echo(f"{'removed' if text is None else 'wrote'} {file}", err=True)
        if promotion.files and not options.write:
            click.echo("nothing was written: --write does it", err=True)
