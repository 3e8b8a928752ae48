"""Signed payloads: cosign's simple signing, DSSE envelopes, in-toto statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.addons.signatures.cosign.layers import SignedLayer, from_base64
from chartkit.addons.signatures.errors import UndecidedError, within
from chartkit.addons.signatures.go_json import (
    field,
    mapping,
    read_object,
    read_strict,
    struct,
    values,
    wrong,
)
from chartkit.addons.signatures.trust.keys import KeyVerifier
from chartkit.engine.ports import SignatureError
from chartkit.go.fmt import go_sprint
from chartkit.model import Body, Json, text_of

IN_TOTO: Final = "application/vnd.in-toto+json"
_CUSTOM: Final = "https://cosign.sigstore.dev/attestation/v1"


@dataclass(frozen=True, slots=True)
class SimplePayload:
    """A payload of simple signing: the image's digest, and the annotations of the signer."""

    digest: str
    optional: Mapping[str, Json]


def read_simple(content: bytes) -> SimplePayload:
    """Return a payload of a signature, whatever its other members; raises SignatureError."""
    body = read_object(content, "payload.SimpleContainerImage")
    critical = struct(body, "critical", "SimpleContainerImage.critical of type payload.Critical")
    image = struct(critical, "image", "Critical.critical.image of type payload.Image")
    place = "Critical.critical.identity of type payload.Identity"
    identity = struct(critical, "identity", place)
    digest = _text(image, "docker-manifest-digest", "Image.critical.image")
    optional = mapping(body, "optional", "SimpleContainerImage.optional")
    _text(identity, "docker-reference", "Identity.critical.identity")
    _text(critical, "type", "Critical.critical")
    return SimplePayload(digest, optional)


def check_claim(layer: SignedLayer, digest: str) -> None:
    """Require a signature to be of the image with a digest; raises SignatureError."""
    claimed = read_simple(layer.payload).digest
    if claimed != digest:
        raise SignatureError(f"invalid or missing digest in claim: {claimed}")


def check_subject(layer: SignedLayer, digest: str) -> None:
    """Require an attestation to be of the image with a digest; raises SignatureError."""
    subjects = read_attested(layer).get("subject") or []
    for subject in subjects:
        if not isinstance(subject, dict):
            raise SignatureError("invalid in-toto statement: null subject entry")
        digests = subject.get("digest")
        found = digests.get("sha256") if isinstance(digests, dict) else None
        if isinstance(found, str) and f"sha256:{found}" == digest:
            return
    raise SignatureError("no matching subject digest found")


def read_attested(layer: SignedLayer) -> Body:
    """Return the statement in the envelope of an attestation; raises SignatureError."""
    return attested_statement(_payload_of(read_object(layer.payload)))


def attested_statement(content: bytes) -> Body:
    """Return a statement with the members that in-toto's type has, those without a value left out.

    Of other members cosign's reader knows nothing, and takes none; raises SignatureError.
    """
    body, is_strict = read_strict(content)
    predicate = body.get("predicate")
    if not isinstance(predicate, str) and not (is_strict and _is_statement(body)):
        if "predicate" not in body:
            raise SignatureError("could not parse statement, could not find predicate")
        kinds = (name for kind, name in _GO_TYPES.items() if isinstance(predicate, kind))
        kind = next(kinds, "float64")
        raise SignatureError(f"could not parse predicate with type {kind}")
    if not isinstance(body.get("subject"), list | None):
        raise SignatureError("could not parse statement: subject is not a list")
    return {key: body[key] for key in _STATEMENT if body.get(key) not in (None, "", [])}


_STATEMENT: Final = ("_type", "subject", "predicateType", "predicate")
_GO_TYPES: Final[Mapping[type, str]] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    bool: "bool",
    type(None): "<nil>",
}
_TEXTS: Final = frozenset(("name", "uri", "content", "downloadLocation", "mediaType"))
_OBJECTS: Final = frozenset(("digest", "annotations"))


def _is_statement(body: Body) -> bool:
    """Tell whether every member has its type in in-toto's definitions."""
    subjects = body.get("subject")
    return (
        body.keys() <= set(_STATEMENT)
        and isinstance(body.get("predicate"), dict | None)
        and all(isinstance(body.get(key), str | None) for key in ("_type", "predicateType"))
        and isinstance(subjects, list | None)
        and all(isinstance(one, dict) and _is_subject(one) for one in subjects or ())
    )


def _is_subject(body: Body) -> bool:
    return (
        body.keys() <= _TEXTS | _OBJECTS
        and all(isinstance(body.get(key), str | None) for key in _TEXTS)
        and all(isinstance(body.get(key), dict | None) for key in _OBJECTS)
        and all(isinstance(value, str) for value in (body.get("digest") or {}).values())
    )


def verify_signature(layer: SignedLayer, verifier: KeyVerifier) -> None:
    """Require a signature over its payload; raises SignatureError."""
    verifier.verify(layer.raw_signature, layer.payload)


def verify_envelope(layer: SignedLayer, verifier: KeyVerifier) -> None:
    """Require a DSSE envelope with a signature of the key, whatever its key id. Raises
    SignatureError; UndecidedError for too many of them."""
    envelope = read_object(layer.payload, "dsse.Envelope")
    kind = field(envelope, "payloadType") or ""
    if kind != IN_TOTO:
        raise SignatureError(f"invalid payloadType {kind} on envelope. Expected {IN_TOTO}")
    signatures = field(envelope, "signatures") or []
    if not isinstance(signatures, list) or not all(isinstance(one, dict) for one in signatures):
        raise SignatureError("json: signatures of the envelope are not a list of objects")
    if not signatures:
        raise SignatureError("no signature found")
    signed = encoded(kind, _any_base64(field(envelope, "payload")))
    if len(signatures) > _MOST_SIGNATURES:
        raise UndecidedError(f"an envelope has more than {_MOST_SIGNATURES} signatures")
    for one in signatures:
        signature = _any_base64(field(one, "sig"))
        try:
            verifier.verify(signature, signed)
        except SignatureError:
            continue
        return
    raise SignatureError("accepted signatures do not match threshold, Found: 0, Expected 1")


_MOST_SIGNATURES: Final = 1000


def encoded(payload_type: str, payload: bytes) -> bytes:
    """Return the pre-authentication encoding of a DSSE envelope, which is what is signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def read_statement(content: bytes) -> Body:
    """Return the statement of an attestation as Kyverno's conditions see it; raises
    SignatureError."""
    with within("error decoding the payload"):
        read_simple(content)
    with within("failed to unmarshal JSON payload"):
        body = read_object(content)
    if "payload" not in body:
        raise SignatureError(f"missing payload in {go_sprint(body)}")
    text = content.decode(errors="replace")
    with within(f"failed to decode statement {text}"):
        statement = _statement(_payload_of(body))
    return {**statement, "type": statement["predicateType"]}


def _statement(content: bytes) -> Body:
    """Return the members that Kyverno's type of a statement has, and no others."""
    body = read_object(content)
    made: Body = {
        "_type": _text(body, "_type", "Statement"),
        "predicateType": _text(body, "predicateType", "Statement"),
        "subject": _subjects(body.get("subject")),
        "predicate": body.get("predicate"),
    }
    if made["_type"] != _CUSTOM:
        return made
    predicate = made["predicate"]
    if not isinstance(predicate, dict):
        raise SignatureError("failed to decode CosignCustomProvenanceV01")
    data = predicate.get("Data")
    if data is None:
        raise SignatureError("missing predicate in CosignCustomProvenanceV01")
    if isinstance(data, str):
        try:
            data = read_object(data.encode())
        except SignatureError:
            return made
        made["predicate"] = {**predicate, "Data": data}
    return made


def _subjects(value: Json) -> Json:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, dict | None) for one in value):
        raise SignatureError("json: subject is not a list of objects")
    return [
        {"name": _text(one or {}, "name", "Subject.subject"), "digest": (one or {}).get("digest")}
        for one in value
    ]


def _payload_of(envelope: Body) -> bytes:
    value = field(envelope, "payload")
    if not isinstance(value, str):
        raise SignatureError("json: payload of the envelope is not a text")
    return from_base64(value)


def _any_base64(value: Json) -> bytes:
    """Return the bytes of base64 in either alphabet, as DSSE reads it."""
    wrong = "unable to base64 decode payload (is payload in the right format?)"
    if not isinstance(value or "", str):
        raise SignatureError(wrong)
    try:
        return from_base64((value or "").replace("-", "+").replace("_", "/"))
    except SignatureError:
        raise SignatureError(wrong) from None


def _text(body: Body, key: str, place: str) -> str:
    """Return a text member, empty for none. place: the Go struct of the field, and its path."""
    for value in values(body, key):
        if not isinstance(value, str | None):
            raise wrong(value, f"Go struct field {place}.{key} of type string")
    found = field(body, key)
    return text_of(found)
