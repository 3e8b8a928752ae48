"""Public keys in Secrets of a cluster: each Secret is read when a policy that names it is asked."""

from __future__ import annotations

from chartkit.engine.ports import UnknownKeyError
from chartkit.network.cluster.discovery import SECRETS
from chartkit.network.cluster.reader import Reader
from chartkit.network.cluster.recording import Recorder
from chartkit.network.cluster.source import MISSING, RefusedError
from chartkit.network.signatures.trust.secret_keys import held_key, not_found


class LiveKeys:
    """The engine's port for keys; of a Secret nothing but `cosign.pub` is kept, here and in a
    recording."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def public_key(self, namespace: str, name: str, /) -> bytes | None:
        path = SECRETS.path(namespace, name)
        source = self._reader.source
        if isinstance(source, Recorder):
            source.keep_public_key(path)
        what = f"the Secret {namespace}/{name}"
        try:
            secret = source.get(path)
        except RefusedError as error:
            if error.status == MISSING:
                raise not_found(name) from None
            self._reader.note(path, error)
            raise UnknownKeyError(f"{what} could not be read: {error.message}") from None
        found = held_key(secret)
        if self._reader.is_recorded and found == b"":
            hint = "record it again"
            raise UnknownKeyError(f"{what} is recorded without its public key", hint=hint)
        return found
