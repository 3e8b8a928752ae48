"""Verifies signatures of content that lies at hand: no registry is asked, and no log.

This module is light: cryptography is imported when the first question comes.
"""

from __future__ import annotations

from typing import Final

from chartkit.engine.signatures import KeySource, SignatureError
from chartkit.errors import LookupFailed
from chartkit.signatures.secret_keys import NO_SECRETS

_NO_KEY: Final = "failed to judge signature type from public key configuration"
_PEM: Final = "-----BEGIN PUBLIC KEY-----"
_LIBRARY: Final = "cryptography"
_NOT_INSTALLED: Final = "cryptography is not installed: pip install 'chartkit[signatures]'"


class LocalBlobs:
    """Verifies with public keys that policies name."""

    def __init__(self, keys: KeySource = NO_SECRETS) -> None:
        """keys: those that lie in Secrets."""
        self._keys = keys

    def verify(self, content: bytes, signature: bytes, key: str, /) -> None:
        """That a key (PEM or `k8s://…`) signed some content; raises SignatureError, or LookupFailed
        for what leads to no key."""
        try:
            from chartkit.signatures.key_references import load_key
            from chartkit.signatures.keys import KeyVerifier, read_public_key
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != _LIBRARY:
                raise
            raise LookupFailed(_NOT_INSTALLED) from None
        try:
            is_pem = key.startswith(_PEM)
            verifier = KeyVerifier(
                read_public_key(key) if is_pem else load_key(key, self._keys, _NO_KEY)
            )
        except SignatureError:
            raise LookupFailed(_NO_KEY) from None
        verifier.verify(signature, content)
