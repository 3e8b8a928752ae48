"""The verifiers of signatures, of images and of content at hand.

This module is light: cryptography and sigstore's library are imported for the first request. If
they are not installed, the error says how to install them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from chartkit.addons.signatures.errors import installed
from chartkit.engine.ports.signatures import (
    KeySource,
    LoggedBlob,
    SignatureError,
    VerificationRequest,
    Verified,
)
from chartkit.engine.ports.world import Credentials, SignatureSource
from chartkit.errors import InputError, LookupFailed
from chartkit.model import Body, Json, Location, mapping_at, mappings_at, text_of
from chartkit.network.cluster.cleaning import NO_SECRETS
from chartkit.network.http.limits import Memory

if TYPE_CHECKING:
    from chartkit.addons.signatures.trust.keys import PublicKey
    from chartkit.addons.signatures.trust.trusted_root import Trust, TrustedRoots
    from chartkit.network.registry.artifacts import Artifacts
    from chartkit.network.registry.images import Registries

_VERDICTS: Final = 4096
"""Verdicts that are kept for objects with the same image."""
_STATEMENTS: Final = 8
"""The same for statements, which may list all that an image is made of."""
_NO_KEY: Final = "failed to judge signature type from public key configuration"
_PEM: Final = "-----BEGIN PUBLIC KEY-----"
Trusting: TypeAlias = Callable[[], "TrustedRoots"]


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
        self, question: VerificationRequest, memory: Memory[Hashable, Verified]
    ) -> Verified:
        artifacts = self.registries.artifacts(question.credentials)

        def ask() -> Verified:
            if question.kind == "Notary":
                from chartkit.addons.signatures import notary

                if question.attestations:
                    return notary.fetch_attestations(artifacts, question)
                return notary.verify_signature(artifacts, question)
            if question.kind == "SigstoreBundle":
                from chartkit.addons.signatures import bundles

                trust = self.trusted()
                return bundles.verify_cluster_policy(artifacts, question, trust, self._keys)
            from chartkit.addons.signatures import cosign

            verify = cosign.fetch_attestations if question.attestations else cosign.verify_signature
            return verify(artifacts, question, self.trusted())

        with installed():
            return memory.once((artifacts, question_key(question)), ask)

    def signed(self, image: str, attestor: Body, credentials: Credentials, /) -> None:
        """Verify the signature of an image by an attestor of an ImageValidatingPolicy."""
        artifacts, cosign = self._artifacts_of(attestor, credentials), attestor.get("cosign")

        def ask() -> None:
            if isinstance(cosign, dict):
                from chartkit.addons.signatures import image_policies

                image_policies.check_signature(artifacts, image, cosign, self.trusted())
            else:
                from chartkit.addons.signatures import notary

                notary.signed(artifacts, image, attestor)

        with installed():
            self._signers.once((artifacts, image, body_key(attestor)), ask)

    def attested(
        self, image: str, attestation: Body, attestor: Body, credentials: Credentials, /
    ) -> Json:
        """Return the statement of an attestor about an image, as `extractPayload` shows it."""
        artifacts, cosign = self._artifacts_of(attestor, credentials), attestor.get("cosign")

        def ask() -> Json:
            if isinstance(cosign, dict):
                from chartkit.addons.signatures import image_policies

                kind, trust = text_of(mapping_at(attestation, "intoto").get("type")), self.trusted()
                return image_policies.fetch_statement(artifacts, image, kind, cosign, trust)
            from chartkit.addons.signatures import notary

            return notary.attested(artifacts, image, attestation, attestor)

        with installed():
            return self._payloads.once((artifacts, image, body_key(attestation, attestor)), ask)

    def _artifacts_of(self, attestor: Body, credentials: Credentials) -> Artifacts:
        """Return the registry's artifacts by the secrets of an attestor's own `source`, or by the
        policy's credentials."""
        listed = mappings_at(attestor.get("cosign"), "source", "PullSecrets")
        names = [secret["name"] for secret in listed if isinstance(secret.get("name"), str)]
        if names:
            credentials = Credentials(secrets=tuple(names), insecure=credentials.insecure)
        return self.registries.artifacts(credentials)

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
        if self._file is None:
            return None
        from chartkit.addons.signatures.trust.trusted_root import read_trusted_root

        location = Location(str(self._file))
        try:
            return read_trusted_root(self._file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"the trusted root cannot be read: {why}", location) from None
        except SignatureError as error:
            hint = "a Sigstore instance publishes it as trusted_root.json"
            raise InputError(error.message, location, hint=hint) from None


def question_key(question: VerificationRequest) -> Hashable:
    """Return a key that no other question has."""
    values = (getattr(question, field.name) for field in fields(question))
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in values
    )


def body_key(*bodies: Body) -> Hashable:
    """Return a key that no other parts of a policy have."""
    return json.dumps(bodies, sort_keys=True, default=str)


class LocalBlobs:
    """Verifies signatures of content that lies at hand, with public keys that policies name, and
    with the keys of transparency logs: no registry is asked, and no log."""

    def __init__(self, keys: KeySource = NO_SECRETS, trust: Trusting | None = None) -> None:
        """keys: of Secrets; trust: gives the trusted root, the public instance's for None."""
        self._keys = keys
        self._trust = trust

    def verify(self, content: bytes, signature: bytes, key: str, /) -> None:
        """Require a signature of some content by a key (PEM or `k8s://…`); raises SignatureError,
        or LookupFailed for a reference that leads to no key."""
        with installed():
            from chartkit.addons.signatures.trust.keys import KeyVerifier

            verifier = KeyVerifier(self._loaded(key))
        verifier.verify(signature, content)

    def logged(
        self, blob: LoggedBlob, key: str = "", certificate: str = "", chain: str = "", /
    ) -> str | None:
        """The name in the certificate of who signed, as a log's entry has it (see `BlobSource`)."""
        with installed():
            from chartkit.addons.signatures.cosign.checks import certified_key, signer_of
            from chartkit.addons.signatures.trust.trusted_root import TrustedRoots

            signer = self._loaded(key) if key else None
            if certificate:
                signer = certified_key(certificate, chain)
            trust = TrustedRoots() if self._trust is None else self._trust()
            return signer_of(blob, signer, trust())

    def _loaded(self, key: str) -> PublicKey:
        """Return a public key that a policy names; raises LookupFailed for what leads to none."""
        from chartkit.addons.signatures.trust.keys import load_key, read_public_key

        try:
            if key.startswith(_PEM):
                return read_public_key(key)
            return load_key(key, self._keys, _NO_KEY)
        except SignatureError:
            raise LookupFailed(_NO_KEY) from None


def local_blobs(keys: KeySource | None, source: SignatureSource) -> LocalBlobs:
    """Return the verifier for the keys of some Secrets, with the trusted root that signatures of
    images are verified with."""
    trust = source.trusted if isinstance(source, Signatures) else None
    return LocalBlobs(keys or NO_SECRETS, trust)
