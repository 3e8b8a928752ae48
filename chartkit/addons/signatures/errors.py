"""Errors of verifications without a verdict, and messages joined as Go joins them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from chartkit.engine.ports.signatures import SignatureError
from chartkit.errors import LookupFailed, extra
from chartkit.network.registry.settings import RegistryError

_JOINED: Final = 50
"""The maximum of messages that are joined: an image may have a thousand signatures."""
_LIBRARIES: Final = frozenset(
    ("cbor2", "cryptography", "jwt", "rfc3161_client", "rfc8785", "sigstore", "sigstore_models")
)
_NOT_INSTALLED: Final = (
    f"the libraries that verify signatures are not installed: {extra('signatures')}"
)


class UndecidedError(LookupFailed):
    """A signature that cannot be verified here."""

    def within(self, prefix: str) -> UndecidedError:
        """Return the same error with words before it."""
        return UndecidedError(prefix + self.message, hint=self.hint)


def joined(errors: Sequence[LookupFailed], separator: str) -> str:
    """Return the messages in one, as cosign joins them."""
    texts = [error.message for error in errors[:_JOINED]]
    if len(errors) > _JOINED:
        texts.append(f"and {len(errors) - _JOINED} more")
    return separator.join(texts)


@contextmanager
def within(
    prefix: str, joint: str = ": ", kinds: tuple[type[LookupFailed], ...] = (SignatureError,)
) -> Iterator[None]:
    """Put words before the message of an error of the block; kinds: of verdicts unless given."""
    try:
        yield
    except kinds as error:
        text = f"{prefix}{joint}{error.message}"
        if isinstance(error, RegistryError):
            raise error.worded(text) from None
        kind = UndecidedError if isinstance(error, UndecidedError) else SignatureError
        raise kind(text, hint=error.hint) from None


@contextmanager
def installed() -> Iterator[None]:
    """Raise LookupFailed with an instruction where the libraries are missing, and hide their
    warnings about certificates, which the user cannot change."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        raise LookupFailed(_NOT_INSTALLED) from None
