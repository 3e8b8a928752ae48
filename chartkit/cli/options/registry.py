"""The options of commands that may ask registries for images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from chartkit.errors import InputError
from chartkit.model import RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.scan.statements import Statements

REGISTRY_OPTIONS: Final = (
    click.option(
        "--registry",
        "asks_registries",
        is_flag=True,
        help="Ask registries for what policies want to know of images, as the user of Docker's "
        "configuration; nobody is asked without it.",
    ),
    click.option(
        "--registry-mirror",
        "registry_mirrors",
        multiple=True,
        metavar="REGISTRY=HOST",
        help="The host that is asked in a registry's place; repeatable.",
    ),
    click.option(
        "--registry-ca",
        "registry_authorities",
        type=click.Path(path_type=Path),
        help="A file of certificates (PEM) that are trusted besides the system's.",
    ),
    click.option(
        "--registry-plain-http",
        "registry_plain",
        multiple=True,
        metavar="HOST",
        help="A registry that is asked without encryption; repeatable.",
    ),
    click.option(
        "--registry-cache",
        type=click.Path(path_type=Path),
        help="A folder that keeps what registries said, by digest.",
    ),
    click.option(
        "--trusted-root",
        type=click.Path(path_type=Path),
        help="A Sigstore instance's trusted_root.json, in place of the public one's that is built "
        "in.",
    ),
)

_IMAGE_POLICY: Final = "ImageValidatingPolicy"
_REFINING: Final = {
    "registry_mirrors": "--registry-mirror",
    "registry_authorities": "--registry-ca",
    "registry_plain": "--registry-plain-http",
    "registry_cache": "--registry-cache",
    "trusted_root": "--trusted-root",
}


class UnaskedImages:
    """Counts the images that could not be judged because no registry is asked."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._is_asked = bool(given["asks_registries"])
        self._count = 0

    def add(self, results: Iterable[RuleResult]) -> None:
        """Counts errors of rules and policies that verify images."""
        if not self._is_asked:
            errors = [result for result in results if result.status is Status.ERROR]
            self._count += sum(map(_needs_registry, errors))

    def say(self) -> None:
        """Names the option that asks registries, on standard error."""
        if self._count:
            what = "error" if self._count == 1 else "errors"
            text = f"{self._count} {what} of image verification: --registry asks the registries"
            click.echo(text, err=True)


def _needs_registry(result: RuleResult) -> bool:
    return result.type is RuleType.IMAGE_VERIFY or result.kind.endswith(_IMAGE_POLICY)


def with_registry(statements: Statements, given: Mapping[str, Any]) -> Statements:
    """The statements with registries to ask, where the user wants it; raises InputError."""
    if not given["asks_registries"]:
        for key, option in _REFINING.items():
            if given[key]:
                raise InputError(
                    f"{option} says how registries are asked, and nobody asks them",
                    hint="add --registry",
                )
        return statements
    from chartkit.network.registry import Registries, read_settings
    from chartkit.network.signatures.source import Signatures

    settings = read_settings(
        given["registry_mirrors"],
        given["registry_plain"],
        given["registry_authorities"],
        given["registry_cache"],
    )
    registries = Registries(settings)
    signatures = Signatures(registries, given["trusted_root"])
    return replace(statements, registry=registries, signatures=signatures)
