"""Sigstore bundles that refer to an image: found in its registry, and judged as Kyverno does.

For a ClusterPolicy of `type: SigstoreBundle` that is Kyverno's own code over sigstore-go; for an
ImageValidatingPolicy it is cosign's, wherever such a bundle is there.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from chartkit.addons.signatures.bundles.protojson import MessageError, load
from chartkit.addons.signatures.bundles.reader import Bundle, Envelope, read_bundle
from chartkit.addons.signatures.bundles.signers import Signer, check_identity
from chartkit.addons.signatures.bundles.verifier import BundlePolicy, Clock, verify
from chartkit.addons.signatures.cosign import verifier_of
from chartkit.addons.signatures.cosign.checks import CheckOptions
from chartkit.addons.signatures.cosign.layers import IN_TOTO, asked, manifest_at
from chartkit.addons.signatures.errors import joined, within
from chartkit.addons.signatures.trust.certificates import Identity
from chartkit.addons.signatures.trust.keys import HASHES, load_key, read_public_key
from chartkit.addons.signatures.trust.trusted_root import Authority, Trust
from chartkit.engine.ports.signatures import (
    KeySource,
    SignatureError,
    VerificationRequest,
    Verified,
)
from chartkit.engine.scalars.image_reference import (
    ImageReferenceError,
    RegistryReference,
    parse_reference,
)
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json, mappings_at
from chartkit.network.cluster.cleaning import NO_SECRETS
from chartkit.network.registry.artifacts import Artifacts, ResolvedReference
from chartkit.network.registry.settings import RegistryError

_KIND: Final = "application/vnd.dev.sigstore.bundle"
_MOST_REFERRERS: Final = 50
"""Kyverno's limit for ClusterPolicies, of whatever refers to an image."""
_MOST_BUNDLES: Final = 200
"""Of an image for an ImageValidatingPolicy; cosign has no limit."""
_LARGEST: Final = 10_000_000
"""Bytes of a bundle, Kyverno's limit for ClusterPolicies."""
_ALL: Final = 128 << 20
"""Bytes of all bundles of an image."""
_GZIP: Final = b"\x1f\x8b"
_NO_TRUST: Final = Trust()


def verify_cluster_policy(
    artifacts: Artifacts,
    question: VerificationRequest,
    trust: Callable[[], Trust],
    keys: KeySource = NO_SECRETS,
) -> Verified:
    """Verify an image by its bundles, for a signature or attestations of a ClusterPolicy.

    trust: gives the trusted root, where it is needed; keys: those that lie in Secrets. Raises
    SignatureError in Kyverno's words, RegistryError where the registry does not answer,
    LookupFailed for keys that are not read and for attestations without a type, over which Kyverno
    1.19 breaks down.
    """
    image = question.image
    if question.attestations and not question.type:
        raise LookupFailed("attestations in Sigstore bundles are asked for without a type")
    try:
        parse_reference(image)
    except ImageReferenceError as error:
        raise SignatureError(f"failed to parse image reference: {image}: {error}") from None
    with within(f"failed to fetch bundles: {image}", kinds=(SignatureError, RegistryError)):
        resolved = asked(lambda: _resolve(artifacts, image))
        statements = _find(artifacts, resolved, question.type)
    key = question.key
    subject = bool(question.subject or question.subject_regexp)
    issuer = bool(question.issuer or question.issuer_regexp)
    exclusive = "static key and certificate identity are mutually exclusive"
    identity = None
    if subject and issuer:
        if key:
            raise SignatureError(f"failed to build policy: {image}: {exclusive}")
        identity = Identity(
            question.subject, question.subject_regexp, question.issuer, question.issuer_regexp
        )
        with within(f"failed to build policy: {image}"):
            check_identity(identity)
    material = f"failed to get trusted material: {image}"
    if key and (subject or issuer):
        raise SignatureError(f"{material}: {exclusive}")
    signer = _signer(question, material, keys) if key else None
    alone = key and question.ignores_log and question.ignores_sct
    trusted = _NO_TRUST if alone else trust()
    checks = BundlePolicy(
        trusted, _clock(question), signer, identity, logged=not question.ignores_log
    )
    digest = resolved.document.digest
    holding = []
    for bundle, statement in statements:
        with suppress(SignatureError):
            verify(bundle, digest, checks)
            holding.append(statement)
    if not holding:
        raise SignatureError("sigstore bundle verification failed: no matching signatures found")
    if not question.attestations:
        return Verified(digest)
    return Verified(digest, [_decoded(statement) for statement in holding])


def _resolve(artifacts: Artifacts, image: str) -> ResolvedReference:
    try:
        return artifacts.resolve(image)
    except RegistryError as error:
        # Kyverno asks for the headers alone.
        raise error.worded(error.without_body or error.message) from None


def _find(
    artifacts: Artifacts, resolved: ResolvedReference, wanted: str
) -> list[tuple[Bundle, Body]]:
    """Return the bundles of a predicate type, or all bundles without one; each with its unverified
    statement, empty without a type."""
    reference, digest = resolved.reference, resolved.document.digest
    listed = asked(lambda: artifacts.referrers(reference, digest))
    if len(listed) > _MOST_REFERRERS:
        raise SignatureError(
            f"failed to fetch referrers: too many referrers found, max limit is {_MOST_REFERRERS}"
        )
    bundles, size = [], 0
    for descriptor in listed:
        if str(descriptor.get("artifactType", "")).startswith(_KIND):
            layers = _layers(artifacts, reference, str(descriptor["digest"]))
            if not layers:
                raise SignatureError("layers not found")
            content = _content(artifacts, reference, layers[0])
            if (size := size + len(content)) > _ALL:
                raise LookupFailed(f"the bundles of the image are larger than {_ALL:,} bytes")
            with within("failed to unmarshal bundle"):
                bundles.append(read_bundle(content))
    if not wanted:
        return [(bundle, {}) for bundle in bundles]
    pairs = ((bundle, _statement(bundle)) for bundle in bundles)
    return [(bundle, body) for bundle, body in pairs if body.get("predicateType") == wanted]


def _layers(artifacts: Artifacts, reference: RegistryReference, digest: str) -> Sequence[Body]:
    with within("failed to fetch referrer image"):
        manifest = manifest_at(artifacts, reference, digest)
    return mappings_at(manifest, "layers")


def _content(artifacts: Artifacts, reference: RegistryReference, layer: Body) -> bytes:
    size, digest = layer.get("size"), layer.get("digest")
    if not isinstance(size, int) or not isinstance(digest, str):
        raise SignatureError("failed to fetch referrer layer: the layer has no size and digest")
    if size > _LARGEST:
        raise SignatureError(f"layer size {size} exceeds {_LARGEST}")
    with within("failed to fetch referrer layer"):
        data = layer.get("data")
        content = asked(lambda: artifacts.blob(reference, digest, size, _LARGEST, data))
        # The content of a layer, which may be compressed.
        if not content.startswith(_GZIP):
            return content
        reader = zlib.decompressobj(wbits=31)
        try:
            decompressed = reader.decompress(content, _LARGEST)
        except zlib.error:
            raise SignatureError("gzip: invalid content") from None
        if reader.unconsumed_tail or not reader.eof:
            raise SignatureError(f"the layer's content is cut, or exceeds {_LARGEST}")
        return decompressed


def _statement(bundle: Bundle) -> Body:
    """Return the in-toto statement of a bundle, empty where it has none."""
    if bundle.envelope is None or bundle.envelope.payload_type != IN_TOTO:
        return {}
    try:
        body = load(bundle.envelope.payload)
    except MessageError:
        return {}
    return body if isinstance(body, dict) else {}


def _decoded(statement: Body) -> Body:
    """Return a statement with the fields that Kyverno's conditions see."""
    subjects = statement.get("subject")
    kind = statement.get("predicateType", "")
    return {
        "_type": statement.get("_type", ""),
        "predicateType": kind,
        "subject": [{"name": own.get("name", ""), "digest": own.get("digest")} for own in subjects]
        if isinstance(subjects, list)
        else None,
        "predicate": statement.get("predicate"),
        "type": kind,
    }


def _clock(question: VerificationRequest) -> Clock:
    """Return the required source of time: Kyverno reads `ignoreSCT` for it."""
    if not question.ignores_sct:
        return Clock.OBSERVED
    if question.ignores_log:
        return Clock.NONE if question.key else Clock.NOW
    raise SignatureError(
        f"failed to get verify bundles: {question.image}: when initializing a new Verifier, you "
        "must specify at least one of WithObserverTimestamps(), WithSignedTimestamps(), "
        "WithIntegratedTimestamps() or WithCurrentTime(), or exclusively specify "
        "WithNoObserverTimestamps()"
    )


def _signer(question: VerificationRequest, material: str, keys: KeySource) -> Signer:
    if question.algorithm not in HASHES:
        raise SignatureError(f'{material}: unsupported signature algorithm "{question.algorithm}"')
    what = f"{material}: failed to load public key"
    if "PUBLIC KEY" not in question.key:
        key = load_key(question.key, keys, what)
    else:
        with within(f"{what}: pem to public key"):
            key = read_public_key(question.key)
    verifier_of(key, question.algorithm, what)
    return Signer(key, (question.algorithm,))


def find_bundles(
    artifacts: Artifacts, image: str, repository: RegistryReference | None = None
) -> tuple[str, Sequence[Bundle]]:
    """Return the digest of an image and the bundles (v0.3) that refer to it, as cosign finds them.
    repository: where they lie, if not beside the image. What cannot be had or read is not a bundle,
    and raises nothing: the search for signatures of another format then gives the reason."""
    try:
        resolved = artifacts.resolve(image)
        digest, source = resolved.document.digest, repository or resolved.reference
        listed = artifacts.referrers(source, digest)
    except RegistryError:
        return "", ()
    bundles, size = [], 0
    for descriptor in listed[:_MOST_BUNDLES]:
        try:
            layers = _layers(artifacts, source, str(descriptor["digest"]))
            if len(layers) != 1 or not str(layers[0].get("mediaType", "")).startswith(_KIND):
                continue
            content = _content(artifacts, source, layers[0])
            if (size := size + len(content)) > _ALL:
                break
            bundle = read_bundle(content)
        except (SignatureError, RegistryError):
            continue
        if bundle.version >= (0, 3, 0):
            bundles.append(bundle)
    return digest, bundles


def verify_bundles(bundles: Sequence[Bundle], digest: str, wanted: CheckOptions) -> list[Envelope]:
    """Return the envelopes of all bundles that hold for an image's digest, for the attestor of an
    ImageValidatingPolicy. Its trust is None where a key is all that counts.

    Raises SignatureError in cosign's words where no bundle holds; LookupFailed where Kyverno 1.19
    breaks down: time stamps are to be checked, and there is no trusted root.
    """
    stamped = any(bundle.timestamps for bundle in bundles)
    if (
        stamped
        and wanted.trust is None
        and wanted.clock is not None
        and wanted.verifier is not None
    ):
        raise LookupFailed("a tsaCertChain goes with no key that ignores the transparency log")
    if not bundles:
        raise SignatureError("no valid bundles exist in registry")
    envelopes: list[Envelope] = []
    errors: list[SignatureError] = []
    for bundle in bundles:
        try:
            envelopes.append(_verified(bundle, digest, wanted))
        except SignatureError as error:
            errors.append(error)
    if not envelopes:
        raise SignatureError(f"no matching attestations: {joined(errors, chr(10))}")
    return envelopes


def _verified(bundle: Bundle, digest: str, wanted: CheckOptions) -> Envelope:
    key, trust, clock = None, wanted.trust or _NO_TRUST, wanted.clock
    if wanted.verifier is not None:
        key = Signer(wanted.verifier.key, (wanted.verifier.algorithm.name,))
    elif wanted.trust is None:
        raise SignatureError("a trusted root is required for identity-based verification")
    if len(wanted.identities) > 1:
        raise SignatureError("unsupported: multiple identities are not supported at this time")
    identity = wanted.identities[0] if wanted.identities else None
    if identity is not None:
        check_identity(identity)
    # The policy that cosign gives to sigstore-go.
    stamped = clock is not None
    if wanted.ignores_log:
        stamped = stamped or wanted.trust is not None
        source = Clock.NOW
    else:
        # Rekor 2 gives no time, so another source has to.
        is_new = bool(bundle.entries) and not any(entry.integrated for entry in bundle.entries)
        stamped = stamped or (is_new and key is None)
        source = Clock.LOGGED
    source = source if key is None else Clock.NONE
    if clock is not None:
        # A policy's authorities are added to those of the trusted root, one for each root.
        added = [Authority("", root, clock.intermediates, clock.leaf) for root in clock.roots]
        trust = replace(trust, timestamp_authorities=[*trust.timestamp_authorities, *added])
    wanted_checks = BundlePolicy(
        trust,
        Clock.STAMPED if stamped else source,
        key,
        identity,
        logged=not wanted.ignores_log,
        promised=key is None and not wanted.ignores_sct,
        now=wanted.now,
    )
    statement = verify(bundle, digest, wanted_checks)
    if bundle.envelope is None:
        raise SignatureError("bundle does not contain a DSSE envelope")
    subjects: Sequence[Mapping[str, Json]] = statement.get("subject") or []
    named = [(subject.get("digest") or {}).get("sha256") for subject in subjects]
    if digest.partition(":")[2] not in named:
        raise SignatureError("no matching subject digest found")
    return bundle.envelope
