"""The options of a scan of a live cluster, or of a recording of one: `ClusterOptions`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

CLUSTER_OPTIONS: Final = (
    click.option(
        "--cluster",
        is_flag=True,
        help="Scan a live cluster, read-only, instead of PATH. A PATH that --record wrote is "
        "scanned as a cluster without this option.",
    ),
    click.option(
        "--context", metavar="NAME", help="The kubeconfig's context; the current one if not given."
    ),
    click.option(
        "--cluster-policies",
        is_flag=True,
        help="Evaluate the policies that are installed in the cluster.",
    ),
    click.option(
        "--reports",
        is_flag=True,
        help="Compare the results with the PolicyReports of the cluster, and list the differences.",
    ),
    click.option(
        "--fail-on-differences", is_flag=True, help="Like --reports; exit 1 if anything differs."
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write everything that is read to DIR, for the same scan to take as PATH without the "
        "cluster. Data of Secrets is left out, except public keys of signers.",
    ),
)
