"""The three that ask other machines, alike: each as a function that gives an error's text."""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from chartkit.engine.ports.services import ServiceCall
from chartkit.errors import ChartkitError, LookupFailed
from chartkit.network.downloads.download import download
from chartkit.network.downloads.lockfile import DEFAULT
from chartkit.network.http.connections import read_hosts
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, Settings
from chartkit.network.services import Services
from tests.errors import error_of

Refusal = Callable[[str], str]
"""Asks a URL and gives the message of the refusal."""
_QUICK = Limits(attempts=1)


def download_refusal(url: str) -> str:
    """What a download (`policies vendor`, `vendor chart`) says."""
    return str(error_of(ChartkitError, download, url, replace(DEFAULT, attempts=1)))


def registry_refusal(url: str) -> str:
    """What a registry at a URL's host says, which is asked without encryption."""
    host = urlsplit(url).netloc
    registries = Registries(Settings(limits=_QUICK, plain=frozenset({host})))
    return str(error_of(LookupFailed, registries.digest, f"{host}/team/app:1"))


def service_refusal(url: str) -> str:
    """What `--allow-network` and the call say, with the host named."""
    with pytest.raises(ChartkitError) as caught:
        Services(read_hosts([urlsplit(url).netloc])).ask(ServiceCall("GET", url))
    return str(caught.value)


USERS: tuple[Refusal, ...] = (download_refusal, registry_refusal, service_refusal)
