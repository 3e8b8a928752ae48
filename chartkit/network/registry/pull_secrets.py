"""Credentials in Secrets of a cluster, as policies name them (`kubernetes.io/dockerconfigjson` and
`kubernetes.io/dockercfg`), found for a repository as Kubernetes finds them for an image; with the
user's own they make the keychain of a policy."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final
from urllib.parse import urlsplit

from chartkit.engine.ports import Credentials
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body, Json, text_of
from chartkit.network.registry.credentials import DockerConfig, Login, read_login
from chartkit.network.registry.errors import RegistryError

KYVERNO_NAMESPACE: Final = "kyverno"
"""The namespace of Secrets that a policy names without one."""
_KEYS: Final = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
}
_WITH_AUTHS: Final = ".dockerconfigjson"
_VERSIONS: Final = ("/v1/", "/v2/")


@dataclass(frozen=True, slots=True)
class PullSecret:
    """place: `namespace/name`; key: of the data that holds the content, a configuration of
    Docker's; never shown."""

    place: str
    key: str = ""
    content: bytes = field(default=b"", repr=False)

    @property
    def fingerprint(self) -> str:
        """A hash of its place and content."""
        return hashlib.sha256(f"{self.place}\0{self.key}\0".encode() + self.content).hexdigest()


def read_pull_secret(body: Body) -> PullSecret | None:
    """Return a Secret among objects; without content, if it is of a type that holds no credentials.
    None for any other object."""
    metadata = body.get("metadata")
    if body.get("kind") != "Secret" or body.get("apiVersion") != "v1":
        return None
    if not isinstance(metadata, dict):
        return None
    place = f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"
    key = _KEYS.get(str(body.get("type")), "")
    plain = _entry(body.get("stringData"), key)
    if plain:
        return PullSecret(place, key, plain.encode())
    try:
        return PullSecret(place, key, base64.b64decode(_entry(body.get("data"), key)))
    except (binascii.Error, ValueError):
        return PullSecret(place, key, b"not base64")


def place_of(name: str) -> str:
    """Return `namespace/name` of a Secret that a policy names."""
    bare = name.removeprefix("/")
    return bare if "/" in bare else f"{KYVERNO_NAMESPACE}/{bare}"


def find_login(secrets: Sequence[PullSecret], registry: str, repository: str) -> Login | None:
    """Return the login to a registry in some Secrets: the narrowest entry counts, and of several
    equal ones the first. Raises RegistryError for a Secret whose content is wrong."""
    entries: dict[str, tuple[Body, str]] = {}
    for secret in secrets:
        for name, body in _auths(secret):
            entries.setdefault(_narrowed(name), (body, f"an auth in the Secret {secret.place}"))
    target = f"{registry}/{repository}"
    for name in sorted(entries, reverse=True):
        if _covers(name, target):
            return read_login(*entries[name])
    return None


def _entry(data: Json, key: str) -> str:
    value = data.get(key) if isinstance(data, dict) else None
    return text_of(value)


def _auths(secret: PullSecret) -> Iterator[tuple[str, Body]]:
    if not secret.content:
        return
    try:
        body = json.loads(secret.content)
    except (ValueError, RecursionError):
        body = None
    auths = body.get("auths", {}) if secret.key == _WITH_AUTHS and isinstance(body, dict) else body
    if not isinstance(auths, dict) or not all(isinstance(auth, dict) for auth in auths.values()):
        text = f"the Secret {secret.place} contains no Docker configuration in {secret.key}"
        raise RegistryError(text, unanswered=True)
    yield from auths.items()


def _narrowed(name: str) -> str:
    """Return host and path of an entry's name, without a version of the protocol."""
    text = name if name.startswith(("https://", "http://")) else f"https://{name}"
    try:
        parts = urlsplit(text)
    except ValueError:
        return name
    path = parts.path[3:] if parts.path.startswith(_VERSIONS) else parts.path
    return parts.netloc if path == "/" else f"{parts.netloc}{path}"


def _covers(name: str, target: str) -> bool:
    """Tell whether an entry covers a repository: each label of the host may have wildcards, the
    path is a prefix."""
    host, slash, path = name.partition("/")
    there, _, rest = target.partition("/")
    if slash and not rest.startswith(path):
        return False
    wanted, _, port = host.partition(":")
    found, _, other = there.partition(":")
    labels = zip_longest(wanted.split("."), found.split("."))
    return port == other and all(
        glob is not None and label is not None and compile_wildcard(glob)(label)
        for glob, label in labels
    )


@dataclass(frozen=True, slots=True)
class Keychain:
    """secrets: asked first; config: the user's own, None where only the Secrets count."""

    secrets: tuple[PullSecret, ...]
    config: DockerConfig | None

    def find(self, registry: str, repository: str, private: bool = True) -> Login | None:
        """Return the login to a registry, None if there is none. Raises RegistryError.

        private: whether the connection is encrypted or the user wants it plain; without it, the
        user's own password is not sent.
        """
        login = find_login(self.secrets, registry, repository)
        if login is None and self.config is not None and private:
            return self.config.find(registry, repository)
        return login

    @property
    def owner(self) -> str:
        """A name for the rights of this keychain; empty for the user's own."""
        if not self.secrets and self.config is not None:
            return ""
        texts = [secret.fingerprint for secret in self.secrets]
        return hashlib.sha256(f"{texts}{self.config is None}".encode()).hexdigest()


def keychain_for(
    credentials: Credentials, secrets: Mapping[str, PullSecret], config: DockerConfig
) -> Keychain:
    """Return the keychain that a policy asks for. secrets: the known ones, by `namespace/name`.

    The user's configuration takes the place of a missing Secret and of the clouds' own programs
    (`providers`). It is also the provider `default`, and used where a policy names nothing.
    """
    places = [place_of(name) for name in credentials.secrets]
    pull_secrets = tuple(secrets[place] for place in places if place in secrets)
    alone = bool(places) and len(pull_secrets) == len(places) and not credentials.providers
    return Keychain(pull_secrets, None if alone else config)
