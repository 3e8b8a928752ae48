"""The options of commands that may call the services that policies ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from chartkit.engine.policies import Surroundings
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
    click.option(
        "--allow-http-in-namespaced-policies",
        "allows_http",
        is_flag=True,
        help="Policies of a namespace may call services, too, as where Kyverno's controllers have "
        "--allowHTTPInNamespacedPolicies; hosts are named by --allow-network.",
    ),
)


def surroundings(given: Mapping[str, Any]) -> Surroundings:
    """What stands beside policies, by the options; raises InputError and CompileError."""
    from chartkit.scan.statements import read_exceptions

    return replace(read_exceptions(given["exceptions"]), allows_http=given["allows_http"])


def with_network(statements: Statements, given: Mapping[str, Any]) -> Statements:
    """The statements with services to call, where the user names their hosts; raises InputError."""
    if not given["allowed_hosts"]:
        return statements
    from chartkit.network.services import Services, read_hosts

    return replace(statements, services=Services(read_hosts(given["allowed_hosts"])))
