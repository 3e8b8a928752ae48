"""The verifiers of signatures that the add-on `signatures` brings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from chartkit.addon import MissingAddonError, port
from chartkit.engine.ports.signatures import KeySource
from chartkit.engine.ports.world import UNASKED, BlobSource, SignatureSource
from chartkit.errors import LookupFailed

if TYPE_CHECKING:
    from chartkit.network.registry.images import Registries


class _Missing:
    """Both verifiers without the add-on: each question gets the reason."""

    def __init__(self, error: MissingAddonError) -> None:
        self._reason = LookupFailed(error.message, hint=error.hint)

    def _fail(self, *_question: Any) -> Any:
        raise self._reason

    signature = attestations = signed = attested = payload = verify = logged = _fail

    def learn(self, _keys: KeySource, /) -> None:
        """Need no keys."""


def _verifier(name: str, purpose: str, *settings: Any) -> Any:
    try:
        made = port("signatures", name, purpose)
    except MissingAddonError as error:
        return _Missing(error)
    return made(*settings)


def image_verifier(registries: Registries, trusted_root: Path | None) -> SignatureSource:
    """Return the verifier of images in registries; trusted_root: a `trusted_root.json` in place of
    the public instance's. Raises InputError for one that cannot be used."""
    verifier: SignatureSource = _verifier("images", "to verify an image", registries, trusted_root)
    return verifier


def blob_verifier(
    keys: KeySource | None = None, signatures: SignatureSource = UNASKED
) -> BlobSource:
    """Return the verifier of content at hand. keys: of Secrets; signatures: the verifier whose
    trusted root is used, UNASKED for the public instance's."""
    verifier: BlobSource = _verifier("blobs", "to verify a signature", keys, signatures)
    return verifier
