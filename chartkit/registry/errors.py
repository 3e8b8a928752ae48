"""Why a registry gave no answer."""

from __future__ import annotations

from chartkit.errors import LookupFailed


class RegistryError(LookupFailed):
    """An answer that is none, or that is refused; the message is one line without any secret."""


class PassingError(RegistryError):
    """Another attempt may do better. pause: seconds that the server asks to be left alone, if it
    does; host: who cannot be reached at all, if that is why."""

    def __init__(self, message: str, pause: float | None = None, host: str = "") -> None:
        super().__init__(message)
        self.pause = pause
        self.host = host
