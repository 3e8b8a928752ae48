"""Objects of a cluster without what no policy needs: no field managers, and in a recording no data
of Secrets but public keys; Secrets as reports show them, with keys, without values; and the public
keys in Secrets that cosign is given."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from typing import Final

from chartkit.engine.ports.services import Cluster, ObjectKey
from chartkit.engine.ports.signatures import KeySource, SignatureError, UnknownKeyError
from chartkit.go.strconv import quote
from chartkit.model import Body, Json, Resource, mapping_at, text_of

SCHEME: Final = "k8s://"
PUBLIC_KEY: Final = "cosign.pub"
_CHECKING: Final = "checking if secret exists: "
_FORM: Final = "kubernetes specification should be in the format k8s://<namespace>/<secret>"
_HINT: Final = "scan it, too, with cosign.pub alone, or give the public key itself, in PEM"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRETS: Final = ("data", "stringData")
_PUBLIC_KEYS: Final = re.compile(
    rb"(\s*-----BEGIN ((?:RSA )?PUBLIC KEY)-----[A-Za-z0-9+/=\s]+-----END \2-----)+\s*"
)
_HIDDEN: Final = "(hidden)"


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
    key = keys.public_key(namespace, name)
    if key is None:
        raise SignatureError(f"loading URL: unrecognized scheme: {SCHEME}")
    return key.decode(errors="replace")


def held_key(secret: Body) -> bytes | None:
    """Return the public key of a Secret, as `KeySource` has it; raises UnknownKeyError for a Secret
    that no cluster would accept."""
    data, texts = (_entries(secret.get(key)) for key in ("data", "stringData"))
    if not data and not texts:
        return None
    if PUBLIC_KEY in texts:
        return texts[PUBLIC_KEY].encode()
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


def cleaned(body: Body) -> Body:
    """Return an object without field managers and `kubectl`'s copy of it."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return body
    annotations = metadata.get("annotations")
    annotations = annotations if isinstance(annotations, dict) else {}
    if "managedFields" not in metadata and LAST_APPLIED not in annotations:
        return body
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    if LAST_APPLIED in annotations:
        kept["annotations"] = {k: v for k, v in annotations.items() if k != LAST_APPLIED}
        if not kept["annotations"]:
            del kept["annotations"]
    return {**body, "metadata": kept}


def cleaned_answer(answer: Body) -> Body:
    """Return an answer, an object or a list of them, with each object cleaned."""
    return _with_each(answer, cleaned)


def without_secrets(answer: Body) -> Body:
    """Return an answer in which every Secret has its keys still, and an empty value for each."""
    are_all = answer.get("kind") == "SecretList"
    return _with_each(
        answer, lambda item: _emptied(item) if are_all or item.get("kind") == "Secret" else item
    )


def _with_each(answer: Body, changed: Callable[[Body], Body]) -> Body:
    items = answer.get("items")
    if not isinstance(items, list):
        return changed(answer)
    kept = [changed(item) if isinstance(item, dict) else item for item in items]
    return {**answer, "items": kept}


def with_public_key(secret: Body) -> Body:
    """Return a Secret as `without_secrets` gives it, but with `cosign.pub`, where that is nothing
    but public keys in PEM."""
    emptied = _emptied(secret)
    given, kept = secret.get("data"), emptied.get("data")
    text = given.get(PUBLIC_KEY) if isinstance(given, dict) else None
    if not isinstance(kept, dict) or not isinstance(text, str) or not _is_public(text):
        return emptied
    return {**emptied, "data": {**kept, PUBLIC_KEY: text}}


def _is_public(text: str) -> bool:
    try:
        return bool(_PUBLIC_KEYS.fullmatch(base64.b64decode(text, validate=True)))
    except ValueError:
        return False


def _emptied(secret: Body) -> Body:
    return {key: _blank(value) if key in _SECRETS else value for key, value in secret.items()}


def _blank(data: Json) -> Json:
    return dict.fromkeys(data, "") if isinstance(data, dict) else None


def without_secret_values(body: Body | None, other: Body | None = None) -> Body | None:
    """Return an object, or a Secret without its values. other: the same object on the other side of
    a comparison; differing values remain different."""
    if body is None or Resource(body).kind != "Secret" or "/" in Resource(body).api_version:
        return body
    hidden = dict(body)
    for field in _SECRETS:
        if isinstance(body.get(field), dict):
            there = mapping_at(other, field)
            hidden[field] = {
                key: _hidden(value, there.get(key)) for key, value in body[field].items()
            }
        elif body.get(field) is not None:
            hidden[field] = _hidden(body[field], mapping_at(other).get(field))
    annotations = mapping_at(body, "metadata", "annotations")
    if LAST_APPLIED in annotations:
        there = mapping_at(other, "metadata", "annotations")
        applied = _hidden(annotations[LAST_APPLIED], there.get(LAST_APPLIED))
        metadata = {**body["metadata"], "annotations": {**annotations, LAST_APPLIED: applied}}
        hidden["metadata"] = metadata
    return hidden


def _hidden(value: Json, other: Json) -> str:
    if other is None or value == other:
        return _HIDDEN
    # Which of two is which is not a secret, and the two must differ.
    return f"{_HIDDEN[:-1]}, {'one' if str(value) < str(other) else 'another'} value)"
