"""The options of commands that put objects before policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from chartkit.cli.options.helm import helm_option
from chartkit.cli.options.network import NETWORK_OPTIONS, surroundings, with_network
from chartkit.cli.options.registry import REGISTRY_OPTIONS, with_registry
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Json, Resource

if TYPE_CHECKING:
    from chartkit.scan.policies import PolicySet
    from chartkit.scan.statements import Statements

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="PATH…"),
    click.option(
        "-p",
        "--policies",
        "sources",
        multiple=True,
        default=("pss-restricted",),
        show_default=True,
        metavar="PATH|PROFILE",
        help="A policy file, a folder with policies, a chart or a profile; repeatable.",
    ),
    click.option(
        "--param",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the profile's policies (NAME or POLICY.NAME); repeatable.",
    ),
    click.option(
        "--policy-type",
        type=click.Choice(["ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy"]),
        default="ClusterPolicy",
        show_default=True,
        help="The form of a profile's policies; one that has no such form stays a ClusterPolicy.",
    ),
    click.option(
        "--exceptions",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A file or folder with PolicyExceptions; repeatable.",
    ),
    click.option(
        "-f",
        "--values",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A values file for the charts among the paths, the last wins; or one of Kyverno's "
        "(cli.kyverno.io, kind Values) for the policies' variables; repeatable.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable of the policies, above the values file; repeatable.",
    ),
    click.option(
        "--userinfo",
        type=click.Path(path_type=Path),
        help="A file that says who asks (cli.kyverno.io, kind UserInfo).",
    ),
    click.option(
        "--context-file",
        type=click.Path(path_type=Path),
        help="A file with objects and images that CEL policies ask for (cli.kyverno.io, kind "
        "Context).",
    ),
    click.option(
        "-n",
        "--namespace",
        default="default",
        show_default=True,
        help="The charts' namespace; of a cluster the only one that is read, all by default.",
    ),
    click.option(
        "--release", default="release", show_default=True, help="The charts' release name."
    ),
    click.option("--kube-version", help="The Kubernetes version that charts are rendered for."),
    click.option(
        "--api-defaults",
        is_flag=True,
        help="Take objects as an API server stores them, with what it fills in.",
    ),
)


def request_options(command: Command) -> Command:
    """Adds the options; the command gets them as keywords, for `load_requests`."""
    for option in reversed((*_OPTIONS, helm_option(), *REGISTRY_OPTIONS, *NETWORK_OPTIONS)):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Requests:
    """What was loaded: policies, objects, and what the user says about the requests; namespaces:
    labels, namespace_objects: the objects themselves."""

    policies: PolicySet
    found: Sequence[Resource]
    namespaces: Mapping[str, Mapping[str, str]]
    namespace_objects: Mapping[str, Body]
    statements: Statements


def load_requests(given: Mapping[str, Any], stdin: TextIO) -> Requests:
    """Loads what the options name; what is wrong with single policies goes to standard error."""
    from chartkit.scan.inputs import ChartOptions, read_inputs, read_payloads
    from chartkit.scan.policies import load_policies
    from chartkit.scan.run import namespace_labels, namespaces_among
    from chartkit.scan.statements import read_statements

    if not given["paths"]:
        raise click.UsageError("Missing argument 'PATH…' (- is standard input).")
    statements = read_statements(
        given["values"], given["settings"], given["userinfo"], given["context_file"]
    )
    statements = with_network(with_registry(statements, given), given)
    around = surroundings(given)
    parameters = parse_parameters(given["parameters"])
    policies = load_policies(given["sources"], parameters, around, given["policy_type"])
    for diagnostic in (*policies.diagnostics, *policies.warnings):
        click.echo(str(diagnostic), err=True)
    chart = ChartOptions(
        values=statements.chart_values,
        release=given["release"],
        namespace=given["namespace"],
        kube_version=given["kube_version"],
    )
    if given.get("is_json"):
        if given["api_defaults"]:
            raise InputError("--api-defaults is about Kubernetes objects, and --json about none")
        found = read_payloads(given["paths"], stdin)
        return Requests(policies, found, {}, {}, statements)
    found = read_inputs(given["paths"], stdin, _note, chart)
    if given["api_defaults"]:
        from chartkit.scan.api_defaults.kinds import all_as_stored

        found = all_as_stored(found)
    labels, objects = namespace_labels(found), namespaces_among(found)
    return Requests(policies, found, labels, objects, statements)


def _note(diagnostic: Diagnostic) -> None:
    click.echo(str(diagnostic), err=True)


def parse_parameters(texts: Sequence[str]) -> dict[str, Json]:
    """`NAME=VALUE` pairs, the value read as YAML; raises InputError for anything else."""
    from chartkit.documents.reader import parse_yaml

    parameters: dict[str, Json] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--param '{text}' is not NAME=VALUE")
        parameters[name] = parse_yaml(value)
    return parameters
