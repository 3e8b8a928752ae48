"""Signatures and attestations for ImageValidatingPolicies: bundles where there are any, else
cosign's classic format, as Kyverno finds out.

As Kyverno 1.19 has it, the trusted root comes before `ctlog.rekorPubKey`, `ctlog.ctLogPubKey` and
`keyless.roots`, which then count for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.signatures import bundles
from chartkit.addons.signatures.cosign import (
    by_chain,
    pool_of,
    read_signer,
    read_verifier,
    repository_of,
    resolve,
    verifier_of,
    verify_signatures,
)
from chartkit.addons.signatures.cosign.checks import CheckOptions, verify_layers
from chartkit.addons.signatures.cosign.layers import (
    SIGNATURE,
    NotThereError,
    SignedLayer,
    asked,
    attested_statement,
    read_attested,
    tagged_layers,
)
from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import Identity, public_key
from chartkit.addons.signatures.trust.keys import HASHES, KeyVerifier, load_key
from chartkit.addons.signatures.trust.timestamps import read_authority
from chartkit.addons.signatures.trust.trusted_root import Trust, TrustedRoots, read_trusted_root
from chartkit.engine.ports.signatures import KeySource, SignatureError
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json, mapping_at, text_of
from chartkit.network.registry.artifacts import Artifacts

_FAILED: Final = "failed to verify cosign signatures"
_SHORT_NAMES: Final[Mapping[str, str]] = {
    "custom": "https://cosign.sigstore.dev/attestation/v1",
    "slsaprovenance": "https://slsa.dev/provenance/v0.2",
    "slsaprovenance02": "https://slsa.dev/provenance/v0.2",
    "slsaprovenance1": "https://slsa.dev/provenance/v1",
    "spdx": "https://spdx.dev/Document",
    "spdxjson": "https://spdx.dev/Document",
    "cyclonedx": "https://cyclonedx.org/bom",
    "link": "https://in-toto.io/Link/v1",
    "vuln": "https://cosign.sigstore.dev/attestation/vuln/v1",
    "openvex": "https://openvex.dev/ns",
}
"""Cosign's own names of predicate types."""

Annotations = Mapping[str, str]
_NONE: Final[Annotations] = {SIGNATURE: ""}
"""The media type that cosign gives an attestation of a bundle."""
_OPTIONS: Final = "failed to build cosign verification opts"
_LARGEST: Final = 1 << 20
"""Bytes of a trusted root that stands in a policy, at most."""


def check_signature(artifacts: Artifacts, image: str, attestor: Body, trust: TrustedRoots) -> None:
    """Verify the signature of an image. attestor: an entry's `cosign`; trust: the trusted root.
    Raises SignatureError in Kyverno's words, any other LookupFailed where it is unknown."""
    wanted = read_attestor(attestor, trust)
    bundled = _bundled(artifacts, image, wanted)
    if bundled is not None:
        _check_annotations([_NONE for _ in bundled], wanted)
        return
    layers, is_logged = _classic(artifacts, image, wanted)
    checks = wanted.checks
    if not (is_logged or checks.ignores_log or checks.ignores_sct):
        raise SignatureError("transparency log or timestamp verification failed")
    _check_annotations([layer.annotations for layer in layers], wanted)


def fetch_statement(
    artifacts: Artifacts, image: str, kind: str, attestor: Body, trust: TrustedRoots
) -> Json:
    """Return the statement attested of an image. kind: the required predicate type; trust: the
    trusted root. None for a type by cosign's own short name: Kyverno verifies the statement and
    then does not find it. Raises SignatureError in Kyverno's words, any other LookupFailed where it
    is not known."""
    read = read_attestor(attestor, trust)
    wanted = replace(read, checks=replace(read.checks, attests=True))
    bundled = _bundled(artifacts, image, wanted)
    attested: list[tuple[Body, Annotations]]
    if bundled is not None:
        attested = [(statement, _NONE) for statement in bundled]
    else:
        layers, is_logged = _classic(artifacts, image, wanted)
        if not is_logged:
            raise SignatureError("cosign bundle verification failed")
        attested = [(read_attested(layer), layer.annotations) for layer in layers]
    # The last statement of a predicate type, with the annotations that are wanted.
    if not kind:
        raise SignatureError("converting to consumable policy validation: missing predicate type")
    types = [str(statement.get("predicateType", "")) for statement, _ in attested]
    named = _SHORT_NAMES.get(kind, kind)
    statements, errors = [], []
    for (statement, given), found_type in zip(attested, types, strict=True):
        if found_type != named:
            continue
        wrong = _mismatch(given, wanted.annotations)
        if wrong:
            errors.append(wrong)
        else:
            statements.append(statement)
    if statements:
        return None if kind in _SHORT_NAMES else statements[-1]
    if errors:
        text = " ".join(errors)
        raise SignatureError(f"no attestation matched the required annotations: [{text}]")
    raise SignatureError(f"required predicate type {kind} not found, found [{' '.join(types)}]")


def _bundled(artifacts: Artifacts, image: str, wanted: Attestor) -> Sequence[Body] | None:
    """Return the statements of the bundles that hold; None where an image has no bundles."""
    digest, referring = asked(lambda: bundles.find_bundles(artifacts, image, wanted.repository))
    if not referring:
        return None
    with within(_FAILED):
        envelopes = bundles.verify_bundles(referring, digest, wanted.checks)
        return [attested_statement(envelope.payload) for envelope in envelopes]


def _classic(
    artifacts: Artifacts, image: str, wanted: Attestor
) -> tuple[Sequence[SignedLayer], bool]:
    """Return the signatures or attestations that hold, and whether a log's promise was verified."""
    checks = wanted.checks
    suffix = "att" if checks.attests else "sig"
    with within(_FAILED):
        try:
            repository, digest = resolve(artifacts, image)
            repository = wanted.repository or repository
            layers = tagged_layers(artifacts, repository, digest, suffix, wanted.prefix)
            verify = verify_layers if checks.attests else verify_signatures
            verified_layers = verify(artifacts, layers, digest, checks)
        except NotThereError as error:
            tag = "" if checks.attests else "image tag not found: "
            raise SignatureError(f"{tag}{error.message}") from None
    if verified_layers.unknown and checks.attests:
        raise verified_layers.unknown[0]
    return verified_layers.layers, verified_layers.is_logged


def _check_annotations(given: Sequence[Annotations], wanted: Attestor) -> None:
    if not wanted.annotations:
        return
    errors = [_mismatch(annotations, wanted.annotations) for annotations in given]
    if all(errors):
        raise SignatureError(f"no signature matched the required annotations: [{' '.join(errors)}]")


def _mismatch(given: Annotations, wanted: Annotations) -> str:
    """Return the reason why a signature's annotations do not match; empty if they do."""
    for key, value in wanted.items():
        text = given.get(key, "")
        if text != value:
            return (
                f"annotations mismatch: {text} does not match expected value {value} for key {key}"
            )
    return ""


@dataclass(frozen=True, slots=True)
class Attestor:
    """A cosign attestor, read. repository: where its signatures lie, None beside the image; prefix:
    of their tags."""

    checks: CheckOptions
    repository: RegistryReference | None = None
    prefix: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


def read_attestor(body: Body, trust: TrustedRoots) -> Attestor:
    """Return an attestor's `cosign`, its expressions replaced with their values. Raises
    SignatureError in Kyverno's words; LookupFailed for a key or trusted root that stands
    elsewhere."""
    with within(_OPTIONS):
        source, log = mapping_at(body, "source"), mapping_at(body, "ctlog")
        repository = repository_of(_text(source, "repository"))
        is_keyless = bool(body.get("keyless"))
        ignores_log = bool(log.get("insecureIgnoreTlog"))
        checks = CheckOptions(
            ignores_log=ignores_log,
            ignores_sct=bool(log.get("insecureIgnoreSCT")),
            asks_log=bool(log),
        )
        if is_keyless or not ignores_log:
            checks = replace(checks, trust=_trust(body, log, trust))
        if chain := _text(log, "tsaCertChain"):
            checks = replace(checks, clock=read_authority(chain))
        key = mapping_at(body, "key")
        return Attestor(
            _signed_by(body, key, checks, trust.keys),
            repository,
            _text(source, "tagPrefix"),
            {name: str(value) for name, value in mapping_at(body, "annotations").items()},
        )


def _trust(body: Body, log: Body, trust: TrustedRoots) -> Trust:
    """Return the policy's own trusted root, or the one in place of what Kyverno would fetch."""
    fetched = trust()
    # Require all parts that Kyverno would fetch, whether or not they count afterwards.
    if not fetched.logs:
        message = "getting Rekor public keys: no Rekor public keys found in trusted root"
        raise SignatureError(message)
    if not fetched.ct_logs:
        message = "getting CTLog public keys: no CTLog public keys found in trusted root"
        raise SignatureError(message)
    if not any(authority.root for authority in fetched.authorities):
        raise SignatureError(
            "failed to fetch Fulcio material and trusted root fallback also failed: no "
            "certificate authority in trusted root"
        )
    if log and not log.get("insecureIgnoreTlog") and not log.get("url"):
        raise SignatureError("getting Rekor public keys:  rekor URL must be provided")
    own = _text(mapping_at(body, "trustedRoot"), "value")
    what = "failed to resolve trusted material"
    if (size := len(own.encode())) > _LARGEST:
        raise SignatureError(
            f"{what}: inline trustedRoot JSON is too large ({size} bytes), maximum allowed is "
            f"{_LARGEST} bytes"
        )
    if own:
        with within(f"{what}: parsing inline trustedRoot JSON"):
            return read_trusted_root(own)
    if body.get("tuf") and trust.given is None:
        raise LookupFailed(
            "the trusted root of the policy's own TUF repository is not fetched",
            hint="give it with --trusted-root",
        )
    return trust()


def _signed_by(body: Body, key: Body, checks: CheckOptions, keys: KeySource) -> CheckOptions:
    keyless = mapping_at(body, "keyless")
    if keyless:
        if roots := _text(keyless, "roots"):
            pool_of(roots, "failed to load Root certificates")
        identities = keyless.get("identities") or []
        names = ("subject", "subjectRegExp", "issuer", "issuerRegExp")
        read = [
            Identity(*(_text(identity, name) for name in names))
            for identity in identities
            if isinstance(identity, dict)
        ]
        return replace(checks, identities=read)
    if key:
        data, kms, name = (_text(key, part) for part in ("data", "kms", "hashAlgorithm"))
        if not (data or kms):
            return _any(checks)
        what = f"failed to load public key from {'PEM' if data else kms}"
        loaded = None if data else load_key(kms, keys, what)
        if name not in HASHES:
            raise SignatureError(f"{what}: invalid hash function specified")
        verifier = read_verifier(data, name) if loaded is None else verifier_of(loaded, name, what)
        return replace(checks, verifier=verifier)
    certificate = mapping_at(body, "certificate")
    if certificate:
        own = _text(mapping_at(certificate, "cert"), "value")
        chain = _text(mapping_at(certificate, "certChain"), "value")
        if own:
            signing_certificate = read_signer(own)
            if not chain:
                return replace(checks, verifier=KeyVerifier(public_key(signing_certificate)))
            checks = by_chain(checks, signing_certificate, chain)
        if chain:
            return replace(checks, roots=pool_of(chain, "failed to load certificates"))
        return _any(checks)
    raise SignatureError("cosign verifier needs to have one key, keyless or certificate fields set")


def _any(checks: CheckOptions) -> CheckOptions:
    """Return options without a signer: Kyverno then accepts any certificate of the trusted root."""
    if checks.trust is None and checks.roots is None:
        raise SignatureError("one of verifier, root certs, or trusted root is required")
    return checks


def _text(body: Body, key: str) -> str:
    return text_of(body.get(key))
