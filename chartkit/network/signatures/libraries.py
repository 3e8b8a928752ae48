"""Check for the libraries that verify signatures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from chartkit.errors import LookupFailed

_LIBRARIES: Final = frozenset(
    ("cbor2", "cryptography", "jwt", "rfc3161_client", "rfc8785", "sigstore", "sigstore_models")
)
_NOT_INSTALLED: Final = (
    "the libraries that verify signatures are not installed: "
    "pip install '.[signatures]' where chartkit's source is"
)


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
