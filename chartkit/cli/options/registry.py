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
    click.option(
        "--registry-ca",
        "registry_authorities",
        type=click.Path(path_type=Path),
        help="A file of certificates (PEM) to trust in addition to the system's.",
    ),
    click.option(
        "--registry-plain-http",
        "registry_plain",
        multiple=True,
        metavar="HOST",
        help="A registry to ask over HTTP without TLS; repeatable.",
    ),
    click.option(
        "--registry-cache",
        type=click.Path(path_type=Path),
        help="A folder in which to cache registries' answers by digest.",
    ),
    click.option(
        "--trusted-root",
        type=click.Path(path_type=Path),
        help="The trusted_root.json of a Sigstore instance, in place of the public instance's, "
        "which is built in.",
    ),
)
