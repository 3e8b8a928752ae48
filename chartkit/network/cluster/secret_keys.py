"""Public keys in Secrets of a cluster, as policies refer to them: `k8s://namespace/name`.

Of a Secret `cosign.pub` alone is looked at. Messages are cosign's and those of Kubernetes' client.
This module is light: it imports no cryptography.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final

from chartkit.engine.ports import Cluster, KeySource, ObjectKey, SignatureError, UnknownKeyError
from chartkit.go.strconv import quote
from chartkit.model import Body, Json, text_of

SCHEME: Final = "k8s://"
PUBLIC_KEY: Final = "cosign.pub"
_CHECKING: Final = "checking if secret exists: "
_FORM: Final = "kubernetes specification should be in the format k8s://<namespace>/<secret>"
_HINT: Final = "scan it, too, with cosign.pub alone, or give the public key itself, in PEM"


def key_text(reference: str, keys: KeySource) -> str:
    """Return the public key in a Secret; reference: `k8s://namespace/name`. Raises SignatureError
    in cosign's words, UnknownKeyError for an unknown Secret."""
    # A reference names a namespace and a Secret.
    parts = reference.removeprefix(SCHEME).split("/")
    if len(parts) != 2:
        raise SignatureError(_FORM)
    namespace, name = parts
    if wrong := _wrong_segment(namespace):
        raise SignatureError(f"{_CHECKING}invalid namespace {quote(namespace)}: [{wrong}]")
    if not name:
        raise SignatureError(f"{_CHECKING}resource name may not be empty")
    if wrong := _wrong_segment(name):
        raise SignatureError(f"{_CHECKING}invalid resource name {quote(name)}: [{wrong}]")
    if not namespace:
        raise SignatureError(f"{_CHECKING}the server could not find the requested resource")
    found = keys.public_key(namespace, name)
    if found is None:
        raise SignatureError(f"loading URL: unrecognized scheme: {SCHEME}")
    return found.decode(errors="replace")


def held_key(secret: Body) -> bytes | None:
    """Return the public key of a Secret, as `KeySource` has it; raises UnknownKeyError for a Secret
    that no cluster would accept."""
    data, plain = (_entries(secret.get(key)) for key in ("data", "stringData"))
    if not data and not plain:
        return None
    if PUBLIC_KEY in plain:
        return plain[PUBLIC_KEY].encode()
    try:
        return base64.b64decode(data.get(PUBLIC_KEY, ""), validate=True)
    except (binascii.Error, ValueError):
        raise UnknownKeyError(f"{PUBLIC_KEY} in data is not base64") from None


def not_found(name: str) -> SignatureError:
    """Return the error for a Secret that does not exist."""
    return SignatureError(f"{_CHECKING}secrets {quote(name)} not found")


class ScannedSecrets:
    """The Secrets among some objects; of any other Secret nothing is known."""

    def __init__(self, objects: Iterable[Body] = ()) -> None:
        self._secrets = Cluster(body for body in objects if body.get("kind") == "Secret")

    def public_key(self, namespace: str, name: str, /) -> bytes | None:
        """Return a key as `KeySource` does."""
        secret = self._secrets.find(ObjectKey("v1", "Secret", namespace, name))
        if secret is None:
            text = f"the Secret {namespace}/{name} is not among the scanned objects"
            raise UnknownKeyError(text, hint=_HINT)
        try:
            return held_key(secret)
        except UnknownKeyError as error:
            raise UnknownKeyError(f"the Secret {namespace}/{name}: {error.message}") from None


NO_SECRETS: Final[KeySource] = ScannedSecrets()


def _wrong_segment(segment: str) -> str:
    if segment in (".", ".."):
        return f"may not be '{segment}'"
    return "may not contain '%'" if "%" in segment else ""


def _entries(data: Json) -> dict[str, str]:
    if not isinstance(data, dict):
        return {}
    return {key: text_of(value) for key, value in data.items()}
