"""The options of commands that may call the services that policies ask: `NetworkOptions`."""

from __future__ import annotations

from typing import Final

import click

NETWORK_OPTIONS: Final = (
    click.option(
        "--allow-network",
        "allowed_hosts",
        multiple=True,
        metavar="HOST[:PORT][=HOST[:PORT]]",
        help="Call the services that policies ask at this host, and at no other; behind = who is "
        "called in its place, a forwarded port for example; repeatable.",
    ),
    click.option(
        "--allow-http-in-namespaced-policies",
        "allows_http",
        is_flag=True,
        help="Policies of a namespace may call services, too, as where Kyverno's controllers have "
        "--allowHTTPInNamespacedPolicies; hosts are named by --allow-network.",
    ),
)
