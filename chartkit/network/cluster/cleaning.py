"""Objects of a cluster without what no policy needs: no field managers, and in a recording no data
of Secrets but public keys."""

from __future__ import annotations

import base64
import re
from typing import Final

from chartkit.model import Body, Json
from chartkit.network.cluster.secret_keys import PUBLIC_KEY

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRETS: Final = ("data", "stringData")
_PUBLIC_KEYS: Final = re.compile(
    rb"(\s*-----BEGIN ((?:RSA )?PUBLIC KEY)-----[A-Za-z0-9+/=\s]+-----END \2-----)+\s*"
)


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
    items = answer.get("items")
    if not isinstance(items, list):
        return cleaned(answer)
    kept = [cleaned(each) if isinstance(each, dict) else each for each in items]
    return {**answer, "items": kept}


def without_secrets(answer: Body) -> Body:
    """Return an answer in which every Secret has its keys still, and an empty value for each."""
    items = answer.get("items")
    if not isinstance(items, list):
        return _emptied(answer) if answer.get("kind") == "Secret" else answer
    all_secret = answer.get("kind") == "SecretList"
    kept = [
        _emptied(each)
        if isinstance(each, dict) and (all_secret or each.get("kind") == "Secret")
        else each
        for each in items
    ]
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
