"""Logins to registries: the user's, from Docker's own configuration file, and pull secrets.

`config.json` in `$DOCKER_CONFIG`, or else in `~/.docker`: `auths` has names and passwords,
`credHelpers` a program for one registry and `credsStore` one for all others, in place of `auths`
(https://github.com/docker/docker-credential-helpers). `$DOCKER_AUTH_CONFIG` has `auths` that come
first; where Docker has no file, Podman's counts (https://github.com/containers/image,
containers-auth.json), as it does for go-containerregistry.

Policies name Secrets of a cluster (`kubernetes.io/dockerconfigjson` and `kubernetes.io/dockercfg`),
whose entries are found as Kubernetes finds them for an image; with the user's own logins they make
the keychain of a policy.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from chartkit.engine.ports.world import Credentials
from chartkit.engine.scalars.image_reference import INDEX_REGISTRY
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, text_of
from chartkit.network.registry.settings import RegistryError

_HUB: Final = "https://index.docker.io/v1/"
"""The name that Docker Hub has in the file."""
_HUBS: Final = (INDEX_REGISTRY, _HUB, "docker.io")
_HELPER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)
_IDENTITY: Final = "<token>"
"""The name that a helper gives where the secret is an identity token."""
_NOT_FOUND: Final = "credentials not found in native keychain"
_PATIENCE: Final = 20.0
_MOST: Final = 1_000_000
_VARIABLE: Final = "DOCKER_AUTH_CONFIG"
KYVERNO_NAMESPACE: Final = "kyverno"
"""The namespace of Secrets that a policy names without one."""
_KEYS: Final = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
}
_WITH_AUTHS: Final = ".dockerconfigjson"
_VERSIONS: Final = ("/v1/", "/v2/")


@dataclass(frozen=True, slots=True)
class Login:
    """A name with a password; identity: a token that is exchanged for others; token: one that the
    registry itself takes, which comes before all else. Never shown."""

    username: str = ""
    password: str = field(default="", repr=False)
    identity: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def authorization(self) -> str | None:
        """The value of an Authorization header; None for an identity token, which has none."""
        if self.token:
            return f"Bearer {self.token}"
        if self.username and self.password:
            return f"Basic {base64.b64encode(self._pair).decode()}"
        return None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that no message may have."""
        pair = base64.b64encode(self._pair).decode()
        texts = (self.password, self.identity, self.token, pair)
        return tuple(text for text in texts if len(text) > 3)

    @property
    def _pair(self) -> bytes:
        return f"{self.username}:{self.password}".encode()


@dataclass(frozen=True, slots=True)
class DockerConfig:
    """A configuration file, empty where there is none. first: the `auths` that come before it."""

    auths: Mapping[str, Body]
    helpers: Mapping[str, str]
    store: str
    path: Path
    first: Mapping[str, Body] = field(default_factory=dict)

    def find(self, registry: str, repository: str) -> Login | None:
        """Return the user's login to a registry, None if there is none. Raises RegistryError for a
        helper that fails."""
        # The user's login in some `auths`; source: what holds them.
        source = f"${_VARIABLE}"
        logins = (_login(self.first, key, source) for key in _keys(registry, repository))
        login = next((login for login in logins if login is not None), None)
        if login is not None:
            return login
        for key in _keys(registry, repository):
            helper = self.helpers.get(key, self.store if key == registry else "")
            if helper:
                login = _asked(helper, _HUB if key in _HUBS else key)
            elif not self.store:
                login = _login(self.auths, key, str(self.path))
            if login is not None:
                return login
        return None


def _login(auths: Mapping[str, Body], key: str, source: str) -> Login | None:
    """Return the user's login under one name."""
    same = (body for name, body in auths.items() if _plain(name) == key)
    body = auths.get(key, next(same, None))
    return None if body is None else read_login(body, f"{source}: the auth of {key}")


def read_login(body: Body, shown: str) -> Login | None:
    """Return an entry of `auths`; None for one without a user. Raises RegistryError, which says the
    place and nothing of the entry."""
    name, password = text_of(body.get("username")), text_of(body.get("password"))
    if auth := "".join(text_of(body.get("auth")).split()):
        try:
            padded = auth + "=" * (-len(auth) % 4)
            pair = base64.b64decode(padded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise RegistryError(f"{shown} is not base64", unanswered=True) from None
        name, colon, password = pair.partition(":")
        if not colon:
            raise RegistryError(f"{shown} is not a name and password", unanswered=True)
    identity, token = text_of(body.get("identitytoken")), text_of(body.get("registrytoken"))
    if not (name or identity or token):
        return None
    return Login(name, password.strip("\0"), identity, token)


def read_docker_config() -> DockerConfig:
    """Read the user's file; raise InputError for a wrong one, without showing its content."""
    path = _path()
    location = Location(str(path))
    try:
        with path.open("rb") as file:
            text = file.read(_MOST + 1)
    except (FileNotFoundError, NotADirectoryError):
        text = b"{}"
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", location) from None
    if len(text) > _MOST:
        raise InputError(f"is larger than {_MOST:,} bytes", location)
    body = _json(text, location)
    auths = _auths(body, location)
    helpers = {
        key: _helper(name, location)
        for key, name in _mapping(body, "credHelpers", location).items()
    }
    store = body.get("credsStore") if isinstance(body, dict) else ""
    variable = Location(f"${_VARIABLE}")
    return DockerConfig(
        auths,
        helpers,
        _helper(store, location) if store else "",
        path,
        _auths(_json((os.environ.get(_VARIABLE) or "{}").encode(), variable), variable),
    )


def _path() -> Path:
    """Return Docker's file or, if it does not exist and no variable names it, Podman's."""
    if folder := os.environ.get("DOCKER_CONFIG"):
        return Path(folder) / "config.json"
    path = Path.home() / ".docker" / "config.json"
    if path.exists():
        return path
    settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    folders = (os.environ.get("XDG_RUNTIME_DIR"), settings)
    named = (os.environ.get("REGISTRY_AUTH_FILE"),)
    others = (*named, *(Path(folder, "containers", "auth.json") for folder in folders if folder))
    return next((Path(other) for other in others if other and Path(other).is_file()), path)


def _json(text: bytes, location: Location) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("is not JSON", location) from None
    return value


def _auths(body: Json, location: Location) -> Mapping[str, Body]:
    auths = _mapping(body, "auths", location)
    return {key: value for key, value in auths.items() if isinstance(value, dict)}


def _mapping(body: Json, key: str, location: Location) -> Body:
    value = body.get(key) if isinstance(body, dict) else body
    if value is None and isinstance(body, dict):
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{key} must be a mapping", location)
    return value


def _helper(name: Json, location: Location) -> str:
    """Return a helper's name, which becomes part of a program's: it must contain no path."""
    if not isinstance(name, str) or not _HELPER.match(name):
        raise InputError("names a credential helper with an invalid name", location)
    return name


def _keys(registry: str, repository: str) -> Iterator[str]:
    """Yield the names that credentials may have, the narrowest first."""
    steps = repository.split("/")
    for count in range(len(steps), 0, -1):
        yield "/".join((registry, *steps[:count]))
    yield registry
    if registry == INDEX_REGISTRY:
        yield _HUB
        yield "docker.io"


def _plain(key: str) -> str:
    """Return a key without what older versions of Docker add to a host."""
    bare = key.partition("://")[2] or key
    return bare.removesuffix("/").removesuffix("/v1").removesuffix("/v2")


def _asked(helper: str, server: str) -> Login | None:
    """Return the login that a helper knows, None without one. Raises RegistryError."""
    name = f"docker-credential-{helper}"
    program = shutil.which(name)
    if program is None:
        raise _failed(f"the credential helper {name} is not there")
    try:
        done = subprocess.run(
            [program, "get"], input=server.encode(), capture_output=True, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise _failed(f"{name} did not answer within {_PATIENCE:g} seconds") from None
    except OSError as error:
        raise _failed(f"{name} cannot be started: {error.strerror or error}") from None
    if done.returncode:
        # The protocol has no code for it: this sentence is how a helper says that it knows nobody.
        if _NOT_FOUND in done.stdout.decode(errors="replace"):
            return None
        raise _failed(f"{name} failed for {server} with exit code {done.returncode}")
    try:
        body = json.loads(done.stdout[:_MOST])
    except (ValueError, RecursionError):
        raise _failed(f"{name} did not answer in JSON") from None
    if not isinstance(body, dict):
        raise _failed(f"{name} did not answer with an object")
    username, secret = text_of(body.get("Username")), text_of(body.get("Secret"))
    if username == _IDENTITY:
        return Login(identity=secret)
    return Login(username, secret) if username else None


def _failed(message: str) -> RegistryError:
    """Return the error of a helper that fails: nothing was requested without the user's login."""
    return RegistryError(message, unanswered=True)


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
    name = f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"
    key = _KEYS.get(str(body.get("type")), "")
    text = _entry(body.get("stringData"), key)
    if text:
        return PullSecret(name, key, text.encode())
    try:
        return PullSecret(name, key, base64.b64decode(_entry(body.get("data"), key)))
    except (binascii.Error, ValueError):
        return PullSecret(name, key, b"not base64")


def place_of(name: str) -> str:
    """Return `namespace/name` of a Secret that a policy names."""
    bare = name.removeprefix("/")
    return bare if "/" in bare else f"{KYVERNO_NAMESPACE}/{bare}"


def find_login(secrets: Sequence[PullSecret], registry: str, repository: str) -> Login | None:
    """Return the login to a registry in some Secrets: the narrowest entry counts, and of several
    equal ones the first. Raises RegistryError for a Secret whose content is wrong."""
    entries: dict[str, tuple[Body, str]] = {}
    for secret in secrets:
        for name, body in _auths_in(secret):
            text = name if name.startswith(("https://", "http://")) else f"https://{name}"
            try:
                parts = urlsplit(text)
            except ValueError:
                narrowed = name
            else:
                path = parts.path[3:] if parts.path.startswith(_VERSIONS) else parts.path
                narrowed = parts.netloc if path == "/" else f"{parts.netloc}{path}"
            entries.setdefault(narrowed, (body, f"an auth in the Secret {secret.place}"))
    target = f"{registry}/{repository}"
    for name in sorted(entries, reverse=True):
        host, slash, path = name.partition("/")
        there, _, rest = target.partition("/")
        covers = False
        if not slash or rest.startswith(path):
            wanted, _, port = host.partition(":")
            domain, _, other = there.partition(":")
            labels = zip_longest(wanted.split("."), domain.split("."))
            covers = port == other and all(
                glob is not None and label is not None and compile_wildcard(glob)(label)
                for glob, label in labels
            )
        if covers:
            return read_login(*entries[name])
    return None


def _entry(data: Json, key: str) -> str:
    value = data.get(key) if isinstance(data, dict) else None
    return text_of(value)


def _auths_in(secret: PullSecret) -> Iterator[tuple[str, Body]]:
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


@dataclass(frozen=True, slots=True)
class Keychain:
    """secrets: asked first; config: the user's own, None where only the Secrets count."""

    secrets: tuple[PullSecret, ...]
    config: DockerConfig | None

    def find(self, registry: str, repository: str, private: bool = True) -> Login | None:
        """Return the login to a registry, None if there is none. Raises RegistryError. private:
        whether the connection is encrypted or the user wants it plain; without it, the user's own
        password is not sent."""
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
    """Return the keychain that a policy asks for. secrets: the known ones, by `namespace/name`. The
    user's configuration takes the place of a missing Secret and of the clouds' own programs
    (`providers`). It is also the provider `default`, and used where a policy names nothing."""
    places = [place_of(name) for name in credentials.secrets]
    pull_secrets = tuple(secrets[place] for place in places if place in secrets)
    alone = bool(places) and len(pull_secrets) == len(places) and not credentials.providers
    return Keychain(pull_secrets, None if alone else config)
