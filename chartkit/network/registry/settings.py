"""Settings of registries (mirrors, trust, limits), and the errors of their answers."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from chartkit.engine.scalars.image_reference import INDEX_REGISTRY
from chartkit.errors import InputError, LookupFailed
from chartkit.model import Location
from chartkit.network.http import limits as net

_HOST: Final = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?\Z", re.ASCII)
_ALIAS: Final = "docker.io"


@dataclass(frozen=True, slots=True)
class Limits(net.Limits):
    """Limits of a registry's documents, in addition to those of a request. document: bytes of a
    manifest or configuration; held: bytes of documents that are kept in memory, for each who is
    asked as; token: bytes of a token's answer; depth: how many indexes may stand in one another."""

    document: int = 4 * 1024 * 1024
    held: int = 64 * 1024 * 1024
    token: int = 256 * 1024
    depth: int = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """mirrors: the host that is asked in a registry's place; plain: hosts that are asked without
    encryption (this machine itself always is); authorities: certificates that are trusted besides
    the system's; cache: where documents are kept by their digest, None for this run alone."""

    mirrors: Mapping[str, str] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    authorities: Path | None = None
    cache: Path | None = None
    limits: Limits = field(default_factory=Limits)


def read_settings(
    mirrors: Sequence[str] = (),
    plain_hosts: Sequence[str] = (),
    authorities: Path | None = None,
    cache: Path | None = None,
) -> Settings:
    """Read the user's options for registries; raises InputError. mirrors: `REGISTRY=HOST`;
    plain_hosts: hosts; authorities: a file of certificates in PEM."""
    hosts: dict[str, str] = {}
    for text in mirrors:
        registry, equals, host = text.partition("=")
        if not equals:
            hint = "for example docker.io=mirror.example.com"
            raise InputError("--registry-mirror takes REGISTRY=HOST", hint=hint)
        hosts[_host(registry, "--registry-mirror")] = _host(host, "--registry-mirror")
    if authorities is not None:
        try:
            ssl.create_default_context(cafile=str(authorities))
        except ssl.SSLError:
            hint = "give certificates in PEM"
            raise InputError("contains no certificate", Location(str(authorities)), hint) from None
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"cannot be read: {why}", Location(str(authorities))) from None
    if cache is not None and cache.exists() and not cache.is_dir():
        raise InputError("is not a folder (--registry-cache)", Location(str(cache)))
    named = frozenset(_host(text, "--registry-plain-http") for text in plain_hosts)
    return Settings(hosts, named, authorities, cache)


def _host(text: str, option: str) -> str:
    if not _HOST.match(text):
        hint = "give HOST or HOST:PORT, without https:// and without a path"
        raise InputError(f"{option}: '{text}' is not a host", hint=hint)
    return INDEX_REGISTRY if text == _ALIAS else text


class RegistryError(LookupFailed):
    """A missing or refused answer; the message is one line without any secret.

    unanswered: whether no answer was read at all (no host was reached, or none may be asked) rather
    than one that is bad news. Rules that verify images are in error over the first and fail over
    the second, as Kyverno's do. without_body: what Kyverno says where it asks for no more than the
    headers (HEAD), empty where no answer was read.
    """

    without_body: str = ""

    def __init__(self, message: str, hint: str | None = None, unanswered: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.unanswered = unanswered

    def worded(self, message: str) -> Self:
        """Return the same failure in other words."""
        made = type(self)(message)
        made.hint, made.unanswered = self.hint, self.unanswered
        made.without_body = self.without_body
        return made


class MissingError(RegistryError):
    """The registry says that it has no such thing (404)."""
