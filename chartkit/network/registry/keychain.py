"""As whom a policy's registries are asked: by the Secrets it names, or as the user."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from chartkit.engine.ports import Credentials
from chartkit.network.registry.credentials import DockerConfig, Login
from chartkit.network.registry.pull_secrets import PullSecret, find_login, place_of


@dataclass(frozen=True, slots=True)
class Keychain:
    """secrets: asked first; config: the user's own, None where only the Secrets count."""

    secrets: tuple[PullSecret, ...]
    config: DockerConfig | None

    def find(self, registry: str, repository: str, private: bool = True) -> Login | None:
        """Return the login to a registry, None for none. Raises RegistryError.

        private: whether the connection is encrypted or the user wants it plain; without it, the
        user's own password is not sent.
        """
        found = find_login(self.secrets, registry, repository)
        if found is None and self.config is not None and private:
            return self.config.find(registry, repository)
        return found

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
    found = tuple(secrets[place] for place in places if place in secrets)
    alone = bool(places) and len(found) == len(places) and not credentials.providers
    return Keychain(found, None if alone else config)
