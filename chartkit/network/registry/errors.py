"""Errors of registries."""

from __future__ import annotations

from typing import Self

from chartkit.errors import LookupFailed


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
