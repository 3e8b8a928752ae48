"""The options of commands that may ask registries for images: `RegistryOptions`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

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
