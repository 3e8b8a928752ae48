"""All registries, asked as whoever a policy wants: the engine's port for images."""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.engine.ports import NOBODY_ELSE, Credentials
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.client import Client
from chartkit.network.registry.credentials import read_docker_config
from chartkit.network.registry.images import Images
from chartkit.network.registry.pull_secrets import (
    PullSecret,
    keychain_for,
    read_pull_secret,
)
from chartkit.network.registry.settings import Settings
from chartkit.network.registry.transport import Transport


class Registries:
    """Asks registries for images, each reference once for all who have the same rights."""

    def __init__(self, settings: Settings) -> None:
        """Raises InputError for a configuration of Docker's that is wrong."""
        self._settings = settings
        self._config = read_docker_config()
        self._transport = Transport(settings)
        self._secrets: dict[str, PullSecret] = {}
        self._images: dict[tuple[str, bool], Images] = {}

    def learn(self, objects: Iterable[Body], /) -> None:
        """Remember the Secrets among objects, which policies name as credentials."""
        found = filter(None, map(read_pull_secret, objects))
        self._secrets.update({secret.place: secret for secret in found})

    def artifacts(self, credentials: Credentials) -> Artifacts:
        """Return the artifacts of images as a policy's credentials can see them."""
        return self._asked_as(credentials).artifacts

    def digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        """Return the digest that a reference leads to now; raises RegistryError in Kyverno's
        words."""
        return self._asked_as(credentials).digest(reference)

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """Return an image for a context entry; raises RegistryError in Kyverno's words."""
        return self._asked_as(credentials).image(reference)

    def descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """Return an image for CEL; raises RegistryError."""
        return self._asked_as(credentials).descriptor(reference)

    def _asked_as(self, credentials: Credentials) -> Images:
        """Return the images known with the same rights."""
        keychain = keychain_for(credentials, self._secrets, self._config)
        key = (keychain.owner, credentials.insecure)
        if key not in self._images:
            client = Client(self._settings, self._transport, keychain, credentials.insecure)
            self._images[key] = Images(Artifacts(client), self._settings.limits)
        return self._images[key]
