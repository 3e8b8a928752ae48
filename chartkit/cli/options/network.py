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
        help="Let policies call services at this host, and at no other; after =, the host to call "
        "instead, such as a forwarded port; repeatable.",
    ),
    click.option(
        "--allow-http-in-namespaced-policies",
        "allows_http",
        is_flag=True,
        help="Let namespaced policies call services as well, as Kyverno's controllers do with "
        "--allowHTTPInNamespacedPolicies; --allow-network names the hosts.",
    ),
)
