"""Signatures of the Notary Project (notation), as Kyverno verifies them: what an attestor signed,
and what was attested of an image.

ClusterPolicies have certificates; attestors of ImageValidatingPolicies have a `notary` with `certs`
and `tsaCerts`.
"""

from __future__ import annotations

from typing import Final

from chartkit.addons.signatures.errors import UndecidedError, within
from chartkit.addons.signatures.go_json import read, read_mapping
from chartkit.addons.signatures.notary.verification import (
    Repository,
    Target,
    TrustStore,
    by_head,
    refuse,
    target_of,
    verify,
)
from chartkit.addons.signatures.trust.certificates import read_certificates
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest, Verified
from chartkit.model import Body, Json, mapping_at, text_of
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.settings import RegistryError

_FAILURES: Final = (SignatureError, UndecidedError)


def verify_signature(artifacts: Artifacts, question: VerificationRequest) -> Verified:
    """Verify an image by one of the request's certificates. Raises SignatureError in Kyverno's
    words, another LookupFailed where it is unknown."""
    trust = _named_trust(question)
    try:
        reference = artifacts.resolve(question.image)
    except RegistryError as error:
        text = f"failed to parse image reference: {question.image}: {by_head(error)}"
        refuse(error, text)
    repository = Repository(artifacts, reference.reference, is_single=False)
    target = target_of(reference.document)
    failed = f"failed to verify {repository.named(target.digest)}"
    with within(failed, kinds=(*_FAILURES, RegistryError)):
        verify(repository, target, trust)
    return Verified(target.digest)


def fetch_attestations(artifacts: Artifacts, question: VerificationRequest) -> Verified:
    """Return the first artifact of the question's type that refers to an image, as a statement. It
    has to be signed itself, unless the question has no certificate at all. Raises as above."""
    try:
        reference = artifacts.resolve(question.image)
    except RegistryError as error:
        refuse(error, by_head(error))
    repository = Repository(artifacts, reference.reference, is_single=False)
    digest = reference.document.digest
    wanted = repository.referrers(digest, question.type) if question.type else ()
    if not wanted:
        raise SignatureError(
            f"no matching attestations found for image {question.image} with type {question.type}"
        )
    descriptor = wanted[0]
    try:
        if question.cert or question.cert_chain:
            trust = _named_trust(question)
            try:
                document = artifacts.manifest(repository.place, str(descriptor["digest"]))
            except RegistryError as error:
                text = f"failed to parse image reference: {question.image}: {by_head(error)}"
                raise error.worded(text) from None
            verify(repository, target_of(document), trust)
        statement = _statement(repository, descriptor)
    except RegistryError as error:
        refuse(error, error.message)
    return Verified(digest, (statement,))


def _named_trust(question: VerificationRequest) -> TrustStore:
    text = "\n".join(part for part in (question.cert, question.cert_chain) if part)
    with within("failed to parse certificates"):
        return TrustStore(read_certificates(text))


def _statement(repository: Repository, descriptor: Body) -> Body:
    """Return an artifact's manifest, with its type and the layer's content as the predicate."""
    digest = str(descriptor["digest"])
    with within("error in fetching manifest", kinds=(RegistryError,)):
        manifest = repository.manifest(digest)
    layers = manifest.get("layers")
    if not isinstance(layers, list) or not layers:
        raise SignatureError(f"no predicate found: the manifest {digest} has no layers")
    if len(layers) > 1:
        raise SignatureError(
            f"multiple layers in predicate not supported: the manifest {digest} has {len(layers)}"
        )
    predicate = read_mapping(repository.layer(manifest, "predicate").content)
    made = dict(manifest)
    if made.get("type") is None:
        made["type"] = descriptor["artifactType"]
    if made.get("predicate") is None:
        made["predicate"] = dict(predicate)
    return made


def signed(artifacts: Artifacts, image: str, attestor: Body) -> None:
    """Verify an image by an attestor whose `notary` has `certs` and `tsaCerts`. Raises
    SignatureError in Kyverno's words, another LookupFailed where it is unknown."""
    reference = artifacts.resolve(image)
    trust = _trust(attestor)
    repository = Repository(artifacts, reference.reference, is_single=True)
    with within(f"failed to verify image {image}", kinds=_FAILURES):
        verify(repository, target_of(reference.document), trust)


def attested(artifacts: Artifacts, image: str, attestation: Body, attestor: Body) -> Json:
    """Return the content of the first artifact of an attestation's type that an attestor signed.

    None where it is not JSON or not to be had: the attestation holds all the same. Raises as above.
    """
    artifact_type = mapping_at(attestation, "referrer").get("type")
    if not isinstance(artifact_type, str):
        raise SignatureError("notary verifier only supports oci 1.1 referrers as attestations")
    reference = artifacts.resolve(image)
    trust = _trust(attestor)
    repository = Repository(artifacts, reference.reference, is_single=True)
    with within("failed to fetch referrers"):
        listed = repository.referrers(reference.document.digest, artifact_type)
    failures: list[SignatureError | UndecidedError] = []
    for descriptor in listed:
        digest = str(descriptor["digest"])
        # Kyverno compares with what the list of referrers says of the artifact.
        media_type, size = str(descriptor.get("mediaType", "")), descriptor.get("size")
        target = Target(media_type, digest, size if isinstance(size, int) else -1)
        failed = f"failed to verify attestation {artifact_type}, digest {digest}"
        try:
            with within(failed, kinds=_FAILURES):
                verify(repository, target, trust)
        except _FAILURES as error:
            failures.append(error)
        else:
            # The content of a signed artifact, None where it cannot be read.
            try:
                return _json(_content(repository, digest))
            except SignatureError:
                return None
    if not failures:
        raise SignatureError(
            "attestation verification failed, no attestations found for type: " + artifact_type
        )
    # Errors are joined as by Go's multierr: in one line, and undecided if one of them is.
    text = "; ".join(failure.message for failure in failures)
    for failure in failures:
        if isinstance(failure, UndecidedError):
            raise UndecidedError(text, hint=failure.hint)
    raise SignatureError(text)


def payload(artifacts: Artifacts, image: str, artifact_type: str) -> Json:
    """Return the content of the first artifact of a type that refers to an image, without verifying
    its author.

    None where it is not JSON. Raises SignatureError in Kyverno's words where there is no such
    artifact or it is not made as it should be, another LookupFailed where there is no answer.
    """
    reference = artifacts.resolve(image)
    repository = Repository(artifacts, reference.reference, is_single=True)
    listed = repository.referrers(reference.document.digest, artifact_type)
    if not listed:
        raise SignatureError(f"artifact of type {artifact_type} not found")
    return _json(_content(repository, str(listed[0]["digest"])))


def _content(repository: Repository, digest: str) -> bytes:
    try:
        return repository.layer(repository.manifest(digest), "layer").content
    except RegistryError as error:
        refuse(error, error.message)


def _json(content: bytes) -> Json:
    try:
        return read(content)
    except SignatureError:
        return None


def _trust(attestor: Body) -> TrustStore:
    named = mapping_at(attestor, "notary")
    with within("failed to setup notation verification data"):
        certificates = [
            read_certificates(text_of(mapping_at(named, name).get("value")))
            for name in ("certs", "tsaCerts")
        ]
        return TrustStore(*certificates)
