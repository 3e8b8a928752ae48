"""The options of commands that put objects before policies: `RequestOptions`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import click

from chartkit.cli.options import CHART_OPTIONS, Choice, helm_option, takes
from chartkit.scan import DEFAULT_PROFILE

_path_option = partial(click.option, type=click.Path(path_type=Path))

NETWORK_OPTIONS: Final = (
    click.option(
        "--allow-network",
        "allowed_hosts",
        multiple=True,
        metavar="HOST[:PORT][=HOST[:PORT]]",
        help="Let policies call services at this host, and fetch URLs from it, and ask no other; "
        "after =, the host to call instead, such as a forwarded port; repeatable.",
    ),
    click.option(
        "--allow-http-in-namespaced-policies",
        "allows_http",
        is_flag=True,
        help="Let namespaced policies call services as well, as Kyverno's controllers do with "
        "--allowHTTPInNamespacedPolicies; --allow-network names the hosts.",
    ),
)


REGISTRY_OPTIONS: Final = (
    click.option(
        "--registry",
        "asks_registries",
        is_flag=True,
        help="Ask registries about images, with the credentials of Docker's configuration; without "
        "this option no registry is asked.",
    ),
    click.option(
        "--registry-mirror",
        "registry_mirrors",
        multiple=True,
        metavar="REGISTRY=HOST",
        help="A host to ask in place of a registry; repeatable.",
    ),
    _path_option(
        "--registry-ca",
        "registry_authorities",
        help="A file of certificates (PEM) to trust in addition to the system's.",
    ),
    click.option(
        "--registry-plain-http",
        "registry_plain",
        multiple=True,
        metavar="HOST",
        help="A registry to ask over HTTP without TLS; repeatable.",
    ),
    _path_option(
        "--registry-cache", help="A folder in which to cache registries' answers by digest."
    ),
    _path_option(
        "--trusted-root",
        help="The trusted_root.json of a Sigstore instance, in place of the public instance's, "
        "which is built in.",
    ),
)


REQUEST_OPTIONS: Final = (
    click.argument("paths", nargs=-1, metavar="PATH…"),
    click.option(
        "-p",
        "--policies",
        "named_policies",
        multiple=True,
        metavar="PATH|PROFILE",
        help="A policy file, a folder with policies, a chart, a URL or a profile; repeatable. "
        f"Default: {DEFAULT_PROFILE}.",
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
        type=Choice(["ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy", "both"]),
        default="ClusterPolicy",
        show_default=True,
        help="The form of a profile's policies; a policy without it stays a ClusterPolicy.",
    ),
    click.option(
        "--exceptions",
        multiple=True,
        metavar="PATH",
        help="A file, a folder or a URL with PolicyExceptions; repeatable.",
    ),
    click.option(
        "--crds",
        multiple=True,
        metavar="PATH",
        help="A file, folder or chart with CustomResourceDefinitions, in addition to those among "
        "the paths: their objects are validated as by an API server; repeatable.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave out the files, folders and charts below the paths that match, in addition to "
        "exclude: of chartkit.yaml; as in .gitignore; repeatable.",
    ),
    click.option(
        "-f",
        "--values",
        multiple=True,
        metavar="PATH",
        help="A values file, or its URL, for the charts among the paths (the last one wins), or a "
        "file of kind Values (cli.kyverno.io) for the policies' variables; repeatable.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable of the policies, which overrides the values file; repeatable.",
    ),
    _path_option(
        "--userinfo",
        help="A file of kind UserInfo (cli.kyverno.io) with the user who makes the requests.",
    ),
    _path_option(
        "--context-file",
        help="A file of kind Context (cli.kyverno.io) with objects and images that CEL policies "
        "look up.",
    ),
    *CHART_OPTIONS,
    click.option(
        "--api-defaults",
        is_flag=True,
        help="Fill in the defaults that an API server sets before it stores objects.",
    ),
    click.option(
        "--cache/--no-cache",
        expose_value=False,
        hidden=True,
        help="Has no effect: only `render` keeps results of earlier runs.",
    ),
    helm_option(),
    *REGISTRY_OPTIONS,
    *NETWORK_OPTIONS,
)


takes_request: Final = takes("chartkit.scan.requests:RequestOptions", *REQUEST_OPTIONS)
"""Adds the options to a command, which gets them as `RequestOptions`."""
