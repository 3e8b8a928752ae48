"""The options of a scan of a live cluster, or of what was recorded of one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chartkit.cli.options.network import surroundings, with_network
from chartkit.cli.options.registry import with_registry
from chartkit.cli.options.request import Requests, parse_parameters
from chartkit.errors import InputError

if TYPE_CHECKING:
    from chartkit.engine.policies import Surroundings
    from chartkit.network.cluster.reader import Reader
    from chartkit.scan.cluster import Surveyed, Wanted
    from chartkit.scan.policies import PolicySet

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
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
_NAMES = ("context", "cluster_policies", "reports", "fail_on_differences", "record")
_NOT_BOTH = ("kube_version", "is_json", "at", "api_defaults")


def cluster_options(command: Command) -> Command:
    """Adds the options; the command gets them as keywords, for `open_cluster`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextlib.contextmanager
def open_cluster(given: Mapping[str, Any]) -> Iterator[Reader | None]:
    """The cluster that the options name; None where they name files alone.

    Raises InputError for options that cannot be had together, and as `chartkit.scan.cluster.opened`
    does. A recording is written when this ends, unless it ends with another error than an exit.
    """
    wanted = _wanted(given)
    if wanted is None:
        yield None
        return
    from chartkit.scan.cluster import opened

    with opened(wanted) as reader:
        yield reader


def load_cluster(given: Mapping[str, Any], reader: Reader) -> tuple[Requests, Surveyed]:
    """Loads what the options name and what stands around the cluster's objects, as
    `load_requests` does for files."""
    from chartkit.scan.cluster import Surveyed
    from chartkit.scan.statements import read_statements

    statements = read_statements(
        given["values"], given["settings"], given["userinfo"], given["context_file"]
    )
    if statements.chart_values:
        raise InputError("-f is for charts, and a cluster has none: name Kyverno's values")
    statements = with_network(with_registry(statements, given), given)
    survey = Surveyed(reader, surroundings(given))
    policies = _policies(given, survey, survey.around)
    for diagnostic in (*survey.diagnostics, *policies.diagnostics, *policies.warnings):
        click.echo(str(diagnostic), err=True)
    labels, objects = survey.namespaces, survey.namespace_objects
    return Requests(policies, (), labels, objects, statements), survey


def _policies(given: Mapping[str, Any], survey: Surveyed, around: Surroundings) -> PolicySet:
    from chartkit.engine.cluster_policy.policy_check.warnings import deprecations
    from chartkit.scan.policies import compile_all, load_policies

    parameters = parse_parameters(given["parameters"])
    if not given["cluster_policies"]:
        return load_policies(given["sources"], parameters, around, given["policy_type"])
    found = survey.policies()
    if not found and not _is_given("sources"):
        raise InputError("the cluster has no policy that can be read", hint="-p names others")
    installed = replace(compile_all(found, around), deprecations=tuple(deprecations(found)))
    if not _is_given("sources"):
        return installed
    named = load_policies(given["sources"], parameters, around, given["policy_type"])
    return replace(
        installed,
        policies=named.policies + installed.policies,
        diagnostics=named.diagnostics + installed.diagnostics,
        cleanup=named.cleanup + installed.cleanup,
        notes=named.notes,
        deprecations=named.deprecations + installed.deprecations,
    )


def _wanted(given: Mapping[str, Any]) -> Wanted | None:
    from chartkit.network.cluster.recording import is_recording

    paths = [Path(path) for path in given["paths"]]
    recordings = [path for path in paths if is_recording(path)]
    if not given["cluster"] and not recordings:
        for name in _NAMES:
            if given[name]:
                raise InputError(f"{_written(name)} needs --cluster, or a recording of one as PATH")
        return None
    if len(paths) > (0 if given["cluster"] else 1):
        raise InputError("a cluster is scanned alone", hint="leave the other PATHs out")
    for name in _NOT_BOTH:
        if given[name]:
            raise InputError(f"{_written(name)} is not for a scan of a cluster")
    if given["audit_warn"] and (given["reports"] or given["fail_on_differences"]):
        raise InputError("--audit-warn changes results, and --reports compares them")
    return _chosen(given, recordings)


def _chosen(given: Mapping[str, Any], recordings: list[Path]) -> Wanted:
    from chartkit.scan.cluster import Wanted

    if recordings and (given["context"] or given["record"]):
        raise InputError("--context and --record are for a live cluster, not for a recording")
    namespace = given["namespace"] if _is_given("namespace") else ""
    recording = recordings[0] if recordings else None
    return Wanted(given["context"], recording, namespace, given["record"])


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _written(name: str) -> str:
    return f"--{'json' if name == 'is_json' else name.replace('_', '-')}"
