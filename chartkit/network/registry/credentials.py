"""The user's logins to registries, from Docker's own configuration file.

`config.json` in `$DOCKER_CONFIG`, or else in `~/.docker`: `auths` has names and passwords,
`credHelpers` a program for one registry and `credsStore` one for all others, in place of `auths`
(https://github.com/docker/docker-credential-helpers). `$DOCKER_AUTH_CONFIG` has `auths` that come
first; where Docker has no file, Podman's counts (https://github.com/containers/image,
containers-auth.json), as it does for go-containerregistry.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.engine.scalars.image_reference import INDEX_REGISTRY
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, text_of
from chartkit.network.registry.errors import RegistryError

_HUB: Final = "https://index.docker.io/v1/"
"""The name that Docker Hub has in the file."""
_HUBS: Final = (INDEX_REGISTRY, _HUB, "docker.io")
_HELPER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)
_IDENTITY: Final = "<token>"
"""The name that a helper gives where the secret is an identity token."""
_NOT_FOUND: Final = "credentials not found in native keychain"
_PATIENCE: Final = 20.0
_MOST: Final = 1_000_000


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
        found = (self.password, self.identity, self.token, pair)
        return tuple(text for text in found if len(text) > 3)

    @property
    def _pair(self) -> bytes:
        return f"{self.username}:{self.password}".encode()


_VARIABLE: Final = "DOCKER_AUTH_CONFIG"


@dataclass(frozen=True, slots=True)
class DockerConfig:
    """A configuration file; an empty one where there is none. first: the `auths` that come before
    all that it says."""

    auths: Mapping[str, Body]
    helpers: Mapping[str, str]
    store: str
    path: Path
    first: Mapping[str, Body] = field(default_factory=dict)

    def find(self, registry: str, repository: str) -> Login | None:
        """Return the user's login to a registry, None if there is none. Raises RegistryError for a
        helper that fails."""
        login = _listed(self.first, registry, repository, f"${_VARIABLE}")
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


def _listed(auths: Mapping[str, Body], registry: str, repository: str, source: str) -> Login | None:
    """Return the user's login in some `auths`; source: what holds them."""
    found = (_login(auths, key, source) for key in _keys(registry, repository))
    return next((login for login in found if login is not None), None)


def _login(auths: Mapping[str, Body], key: str, source: str) -> Login | None:
    """Return the user's login under one name."""
    same = (body for name, body in auths.items() if _plain(name) == key)
    body = auths.get(key, next(same, None))
    return None if body is None else read_login(body, f"{source}: the auth of {key}")


def read_login(body: Body, place: str) -> Login | None:
    """Return an entry of `auths`; None for one without a user. Raises RegistryError, which says the
    place and nothing of the entry."""
    name, password = text_of(body.get("username")), text_of(body.get("password"))
    if auth := "".join(text_of(body.get("auth")).split()):
        try:
            padded = auth + "=" * (-len(auth) % 4)
            pair = base64.b64decode(padded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise RegistryError(f"{place} is not base64", unanswered=True) from None
        name, colon, password = pair.partition(":")
        if not colon:
            raise RegistryError(f"{place} is not a name and password", unanswered=True)
    identity, token = text_of(body.get("identitytoken")), text_of(body.get("registrytoken"))
    if not (name or identity or token):
        return None
    return Login(name, password.strip("\0"), identity, token)


def read_docker_config() -> DockerConfig:
    """Read the user's file; raises InputError for one that is wrong, and shows nothing of its
    content."""
    path = _path()
    place = Location(str(path))
    try:
        with path.open("rb") as file:
            text = file.read(_MOST + 1)
    except (FileNotFoundError, NotADirectoryError):
        text = b"{}"
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place) from None
    if len(text) > _MOST:
        raise InputError(f"is larger than {_MOST:,} bytes", place)
    body = _json(text, place)
    auths = _auths(body, place)
    helpers = {
        key: _helper(name, place) for key, name in _mapping(body, "credHelpers", place).items()
    }
    store = body.get("credsStore") if isinstance(body, dict) else ""
    variable = Location(f"${_VARIABLE}")
    return DockerConfig(
        auths,
        helpers,
        _helper(store, place) if store else "",
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
    others = (*named, *(Path(one, "containers", "auth.json") for one in folders if one))
    return next((Path(one) for one in others if one and Path(one).is_file()), path)


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
    """Return the login that a helper knows; None if there is none. Raises RegistryError."""
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
