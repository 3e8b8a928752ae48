"""Requests to `SignatureSource` and `BlobSource`, and their answers: signatures and attestations of
images.

An answer that is a verdict (not signed, signed by another, no such attestation) raises
`SignatureError`, which a rule answers with a failure; any other `LookupFailed` says that the
request could not be answered (the registry, the network, what is not known offline), and is an
error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from chartkit.documents.reader import read_file
from chartkit.engine.ports.world import NOBODY_ELSE, Credentials
from chartkit.errors import EvaluationError, LookupFailed
from chartkit.go.fmt import go_json
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json, texts_of


class SignatureError(LookupFailed):
    """A required signature or attestation is missing; the message is in Kyverno's words."""


class UnknownKeyError(LookupFailed):
    """A key in a place that cannot be read: it is unknown whether it signed."""


def read_credentials(body: Json) -> Credentials:
    """The settings of a policy's `imageRegistryCredentials` or `credentials`; none for None."""
    if not isinstance(body, dict):
        return NOBODY_ELSE
    return Credentials(
        tuple(texts_of(body.get("providers"))),
        tuple(texts_of(body.get("secrets"))),
        body.get("allowInsecureRegistry") is True,
    )


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """One attestor of a ClusterPolicy and one image, in the terms of Kyverno's own verifiers.

    image: the whole reference; kind: `Cosign`, `SigstoreBundle` or `Notary`; repository: where
    signatures lie, empty for the image's own; type: an attestation's predicate type, empty for a
    signature; attestations: whether attestations are asked for; key: PEM or a reference (`k8s://`,
    a key management service); cert, cert_chain, roots, tsa_chain, rekor_key, ctlog_key: PEM;
    subject, issuer: wildcards, *_regexp: RE2; extensions: wanted certificate extensions;
    annotations: wanted of the signature; algorithm: the key's hash, empty for sha256.
    """

    image: str
    kind: str = "Cosign"
    repository: str = ""
    type: str = ""
    attestations: bool = False
    key: str = ""
    cert: str = ""
    cert_chain: str = ""
    roots: str = ""
    tsa_chain: str = ""
    subject: str = ""
    subject_regexp: str = ""
    issuer: str = ""
    issuer_regexp: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    algorithm: str = ""
    ignores_log: bool = False
    rekor_url: str = ""
    rekor_key: str = ""
    ignores_sct: bool = False
    ctlog_key: str = ""
    oci11: bool = False
    credentials: Credentials = NOBODY_ELSE


class Verified(NamedTuple):
    """digest: of the image that is signed, as the signature says it; statements: the in-toto
    statements that were attested, each with its predicate type as `type`."""

    digest: str
    statements: Sequence[Body] = ()


class KeySource(Protocol):
    """The public keys in the Secrets of a cluster."""

    def public_key(self, namespace: str, name: str, /) -> bytes | None:
        """`cosign.pub` of a Secret, empty where it has none; None for a Secret without any data.

        Raises SignatureError in a client's words where there is no such Secret, UnknownKeyError
        where that is not known.
        """


class LoggedBlob(NamedTuple):
    """Some content, its signature (base64), the certificate (PEM) of the signer, and the entry of
    a transparency log (JSON)."""

    content: bytes
    signature: str
    certificate: str
    entry: str


METHODS: Final = ("keys", "certificates", "keyless")
"""The kinds of attestors of an entry, in the order in which they count."""

_END_OF_KEY: Final = "-----END PUBLIC KEY-----"

_TYPES: Final = Path(__file__).with_name("kyverno_types.yaml")


@cache
def kyverno_types() -> Mapping[str, Mapping[str, str]]:
    """Return the types of Kyverno's API by name: the type of each field, which a `!` may mark."""
    types: Mapping[str, Mapping[str, str]] = read_file(_TYPES)[0].body
    return types


@cache
def attestor_types() -> GoTypes:
    """Return the types that no schema checks before the rule runs: nested sets of attestors, and
    entries whose variables were replaced."""
    fields = {
        name: {field.removesuffix("!"): kind for field, kind in members.items()}
        for name, members in kyverno_types().items()
    }
    return GoTypes(fields)


def expanded(entries: Iterable[Body]) -> Sequence[Body]:
    """Return the entries of a set; an entry with several public keys becomes one per key."""
    return [body for entry in entries for body in _by_key(entry)]


def _by_key(entry: Body) -> Sequence[Body]:
    keys = entry.get("keys")
    if keys is None:
        return (entry,)
    parts = (keys.get("publicKeys") or "").split(_END_OF_KEY)[:-1]
    if len(parts) < 2:
        return (entry,)
    return [{**entry, "keys": {**keys, "publicKeys": part + _END_OF_KEY}} for part in parts]


def nested_set(body: Json, path: str) -> Body:
    """The set in an entry's `attestor`; path: of the entry.

    Raises EvaluationError in Kyverno's words for one of other types.
    """
    try:
        return attestor_types().decode("v1.AttestorSet", body)
    except EvaluationError as error:
        raise EvaluationError(
            f"failed to unmarshal nested attestor {path}: failed to unmarshal attestor set "
            f"{go_json(body)}: {error.message}"
        ) from error
