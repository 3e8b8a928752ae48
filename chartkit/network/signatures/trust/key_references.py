"""Keys that stand elsewhere than in a policy: in a Secret, which is looked into, or where nobody
here looks (`PublicKeyFromKeyRefWithHashAlgo` of cosign's `pkg/signature`)."""

from __future__ import annotations

from chartkit.engine.ports import KeySource, SignatureError, UnknownKeyError
from chartkit.network.signatures.errors import UnreachableKeyError, within
from chartkit.network.signatures.trust.keys import PublicKey, read_public_key
from chartkit.network.signatures.trust.secret_keys import SCHEME, key_text


def load_key(reference: str, keys: KeySource, what: str) -> PublicKey:
    """Return the public key that a reference leads to; what: the words before the reason of a
    fault.

    Raises SignatureError in cosign's words, UnknownKeyError for a key that nobody here reads.
    """
    if not reference.startswith(SCHEME):
        raise UnreachableKeyError(reference)
    try:
        return read_public_key(key_text(reference, keys))
    except SignatureError as error:
        raise within(what, error) from None
    except UnknownKeyError as error:
        raise UnknownKeyError(f"{what}: {error.message}", hint=error.hint) from None
