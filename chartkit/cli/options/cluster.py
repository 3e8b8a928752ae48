"""The options of a scan of a live cluster, or of a recording of one: `ClusterOptions`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

CLUSTER_OPTIONS: Final = (
    click.option(
        "--cluster",
        is_flag=True,
        help="Scan a live cluster, which is only read, in the place of PATH; a PATH that --record "
        "wrote stands for a cluster, too.",
    ),
    click.option(
        "--context", metavar="NAME", help="The kubeconfig's context; the current one if not given."
    ),
    click.option(
        "--cluster-policies",
        is_flag=True,
        help="Judge by the policies that are installed in the cluster.",
    ),
    click.option(
        "--reports",
        is_flag=True,
        help="Compare with the PolicyReports of the cluster and list what differs.",
    ),
    click.option(
        "--fail-on-differences", is_flag=True, help="As --reports; exit 1 where anything differs."
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write what is read to DIR, which the same scan takes as PATH without the cluster; "
        "the data of Secrets is left out, but for public keys of signers.",
    ),
)
