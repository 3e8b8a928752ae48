"""`chartkit plan`: the order in which to upgrade Kyverno and Kubernetes."""

from __future__ import annotations

import click

from chartkit.cli.options.output import OutputOptions, reports, show


@click.command()
@click.option("--from", "start", required=True, metavar="KYVERNO/KUBERNETES", help="As 1.12/1.27.")
@click.option("--to", "target", required=True, metavar="KYVERNO/KUBERNETES", help="As 1.18/1.34.")
@click.option("--skip-minors", is_flag=True, help="Let a step of Kyverno skip minor versions.")
@click.option("--eks", is_flag=True, help="Show when EKS ends its support of each cluster version.")
@reports()
def plan(options: OutputOptions, start: str, target: str, skip_minors: bool, eks: bool) -> None:
    """Print the shortest order of upgrades in which every step is a supported pair.

    Kubernetes is upgraded by one minor version at a time, and so is Kyverno without --skip-minors.
    Each step of Kyverno says what it changes. Exits 1 where there is no such order, 2 for a
    version that is not known.
    """
    from datetime import date

    from chartkit.kyverno.upgrade.path import parse_pair, shortest
    from chartkit.kyverno.upgrade.report import Plan, report

    options.parsed()
    first, last = parse_pair(start), parse_pair(target)
    route = shortest(first, last, skip_minors)
    shortcut = None
    if not route.exists and not skip_minors:
        skipping = shortest(first, last, skip_minors=True)
        shortcut = len(skipping.steps) if skipping.exists else None
    found = Plan(first, last, route, shortcut, eks, date.today())
    show(report(found), options)
    raise SystemExit(0 if route.exists else 1)
