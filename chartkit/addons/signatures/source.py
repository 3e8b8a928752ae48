"""The verifier of signatures, one module a format.

This module is light: cryptography and sigstore's library are imported for the first request. If
they are not installed, the error says how to install them.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.addons.signatures.errors import installed
from chartkit.engine.ports import (
    Credentials,
    KeySource,
    SignatureError,
    VerificationRequest,
    Verified,
)
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, mapping_at, mappings_at, text_of
from chartkit.network.cluster.cleaning import NO_SECRETS
from chartkit.network.http.limits import Memory
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.images import Registries

if TYPE_CHECKING:
    from chartkit.addons.signatures.trust.trusted_root import Trust, TrustedRoots

_VERDICTS: Final = 4096
"""Verdicts that are kept for objects with the same image."""
_STATEMENTS: Final = 8
"""The same for statements, which may list all that an image is made of."""


class Signatures:
    """Verifies what lies beside images in registries."""

    def __init__(self, registries: Registries, trusted_root: Path | None = None) -> None:
        """Create a verifier. trusted_root: a trusted_root.json in place of the public Sigstore
        instance's. Raises InputError for one that cannot be used."""
        self.registries = registries
        self._file = trusted_root
        self._signatures: Memory[Hashable, Verified] = Memory(_VERDICTS)
        self._signers: Memory[Hashable, None] = Memory(_VERDICTS)
        self._statements: Memory[Hashable, Verified] = Memory(_STATEMENTS)
        self._payloads: Memory[Hashable, Json] = Memory(_STATEMENTS)
        self._keys: KeySource = NO_SECRETS
        if trusted_root is not None:
            with installed():
                _ = self._root

    def learn(self, keys: KeySource, /) -> None:
        """Set the source of the keys that policies name by their Secrets."""
        self._keys = keys

    def signature(self, question: VerificationRequest, /) -> Verified:
        """Verify the signature of an image, as a ClusterPolicy's attestor requires it."""
        return self._verified(question, self._signatures)

    def attestations(self, question: VerificationRequest, /) -> Verified:
        """Return the attestations of a ClusterPolicy's attestor."""
        return self._verified(replace(question, attestations=True), self._statements)

    def _verified(
        self, question: VerificationRequest, known: Memory[Hashable, Verified]
    ) -> Verified:
        artifacts = self.registries.artifacts(question.credentials)
        key = (artifacts, question_key(question))
        with installed():
            return known.once(key, lambda: self._ask(artifacts, question))

    def _ask(self, artifacts: Artifacts, question: VerificationRequest) -> Verified:
        if question.kind == "Notary":
            from chartkit.addons.signatures import notary

            ask = notary.fetch_attestations if question.attestations else notary.verify_signature
            return ask(artifacts, question)
        if question.kind == "SigstoreBundle":
            from chartkit.addons.signatures import bundles

            return bundles.verify_cluster_policy(artifacts, question, self.trusted(), self._keys)
        from chartkit.addons.signatures import cosign

        verify = cosign.fetch_attestations if question.attestations else cosign.verify_signature
        return verify(artifacts, question, self.trusted())

    def signed(self, image: str, attestor: Body, credentials: Credentials, /) -> None:
        """Verify the signature of an image by an attestor of an ImageValidatingPolicy."""
        artifacts = self._artifacts_of(attestor, credentials)
        key = (artifacts, image, body_key(attestor))
        with installed():
            self._signers.once(key, lambda: self._signed(artifacts, image, attestor))

    def _signed(self, artifacts: Artifacts, image: str, attestor: Body) -> None:
        cosign = attestor.get("cosign")
        if not isinstance(cosign, dict):
            from chartkit.addons.signatures import notary

            notary.signed(artifacts, image, attestor)
            return
        from chartkit.addons.signatures import image_policies

        image_policies.check_signature(artifacts, image, cosign, self.trusted())

    def attested(
        self, image: str, attestation: Body, attestor: Body, credentials: Credentials, /
    ) -> Json:
        """Return the statement of an attestor about an image, as `extractPayload` shows it."""
        artifacts = self._artifacts_of(attestor, credentials)
        key = (artifacts, image, body_key(attestation, attestor))
        with installed():
            return self._payloads.once(
                key, lambda: self._attested(artifacts, image, attestation, attestor)
            )

    def _attested(
        self, artifacts: Artifacts, image: str, attestation: Body, attestor: Body
    ) -> Json:
        cosign = attestor.get("cosign")
        if not isinstance(cosign, dict):
            from chartkit.addons.signatures import notary

            return notary.attested(artifacts, image, attestation, attestor)
        from chartkit.addons.signatures import image_policies

        kind = text_of(mapping_at(attestation, "intoto").get("type"))
        return image_policies.fetch_statement(artifacts, image, kind, cosign, self.trusted())

    def _artifacts_of(self, attestor: Body, credentials: Credentials) -> Artifacts:
        cosign = attestor.get("cosign")
        own = _own(cosign, credentials) if isinstance(cosign, dict) else credentials
        return self.registries.artifacts(own)

    def payload(self, image: str, attestation: Body, credentials: Credentials, /) -> Json:
        """Return the payload of the first referrer of an attestation's type, unverified."""
        with installed():
            from chartkit.addons.signatures import notary

            artifacts = self.registries.artifacts(credentials)
            kind = text_of(mapping_at(attestation, "referrer").get("type"))
            return notary.payload(artifacts, image, kind)

    def trusted(self) -> TrustedRoots:
        """Return the trusted root and the keys of Secrets, for what policies leave out."""
        from chartkit.addons.signatures.trust.trusted_root import TrustedRoots

        return TrustedRoots(self._root, self._keys)

    @cached_property
    def _root(self) -> Trust | None:
        return None if self._file is None else _read_root(self._file)


def question_key(question: VerificationRequest) -> Hashable:
    """Return a key that no other question has."""
    values = (getattr(question, field.name) for field in fields(question))
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in values
    )


def body_key(*bodies: Body) -> Hashable:
    """Return a key that no other parts of a policy have."""
    return json.dumps(bodies, sort_keys=True, default=str)


def _read_root(path: Path) -> Trust:
    from chartkit.addons.signatures.trust.trusted_root import read_trusted_root

    try:
        return read_trusted_root(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"the trusted root cannot be read: {why}", Location(str(path))) from None
    except SignatureError as error:
        raise InputError(
            error.message,
            Location(str(path)),
            hint="a Sigstore instance publishes it as trusted_root.json",
        ) from None


def _own(cosign: Body, credentials: Credentials) -> Credentials:
    """Return the credentials of an attestor's own `source`, or the policy's."""
    listed = mappings_at(cosign, "source", "PullSecrets")
    names = [secret["name"] for secret in listed if isinstance(secret.get("name"), str)]
    if not names:
        return credentials
    return Credentials(secrets=tuple(names), insecure=credentials.insecure)
