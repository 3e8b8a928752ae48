"""Verifies signatures of content that lies at hand: no registry is asked, and no log.

This module is light: cryptography is imported when the first question comes.
"""

from __future__ import annotations

from typing import Final

from chartkit.engine.signatures import SignatureError
from chartkit.errors import LookupFailed

_NO_KEY: Final = "failed to judge signature type from public key configuration"
_LIBRARY: Final = "cryptography"
_NOT_INSTALLED: Final = "cryptography is not installed: pip install 'chartkit[signatures]'"


class LocalBlobs:
    """Verifies with public keys that policies name."""

    def verify(self, content: bytes, signature: bytes, key: str, /) -> None:
        """That a key (PEM) signed some content; raises SignatureError, or LookupFailed for a text
        that is no key."""
        try:
            from chartkit.signatures.keys import KeyVerifier, read_public_key
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != _LIBRARY:
                raise
            raise LookupFailed(_NOT_INSTALLED) from None
        try:
            verifier = KeyVerifier(read_public_key(key))
        except SignatureError:
            raise LookupFailed(_NO_KEY) from None
        verifier.verify(signature, content)
