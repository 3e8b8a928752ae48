"""The option of commands that may call the services that policies ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from chartkit.scan.statements import Statements

NETWORK_OPTIONS: Final = (
    click.option(
        "--allow-network",
        "allowed_hosts",
        multiple=True,
        metavar="HOST[:PORT][=HOST[:PORT]]",
        help="Call the services that policies ask at this host, and at no other; behind = who is "
        "called in its place, a forwarded port for example; repeatable.",
    ),
)


def with_network(statements: Statements, given: Mapping[str, Any]) -> Statements:
    """The statements with services to call, where the user names their hosts; raises InputError."""
    if not given["allowed_hosts"]:
        return statements
    from chartkit.services import Services, read_hosts

    return replace(statements, services=Services(read_hosts(given["allowed_hosts"])))
