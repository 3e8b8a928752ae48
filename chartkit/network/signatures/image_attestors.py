"""From a cosign attestor of an ImageValidatingPolicy to what is wanted of a signature.

As Kyverno 1.19 has it, the trusted root comes before `ctlog.rekorPubKey`, `ctlog.ctLogPubKey` and
`keyless.roots`, which then count for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine.ports import KeySource, SignatureError
from chartkit.engine.scalars.registry_reference import RegistryReference
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json
from chartkit.network.signatures import bundles
from chartkit.network.signatures.bundles.signers import Identity as BundleIdentity
from chartkit.network.signatures.bundles.signers import Signer
from chartkit.network.signatures.cosign.attestor_checks import (
    by_chain,
    pool_of,
    read_signer,
    read_verifier,
    repository_of,
    verifier_of,
)
from chartkit.network.signatures.cosign.checks import CheckOptions
from chartkit.network.signatures.cosign.identities import Identity
from chartkit.network.signatures.errors import within
from chartkit.network.signatures.trust.certificates import public_key
from chartkit.network.signatures.trust.keys import HASHES, KeyVerifier, load_key
from chartkit.network.signatures.trust.timestamps import read_authority
from chartkit.network.signatures.trust.trusted_root import Trust, TrustedRoots, read_trusted_root

_OPTIONS: Final = "failed to build cosign verification opts"
_LARGEST: Final = 1 << 20
"""Bytes of a trusted root that stands in a policy, at most."""


@dataclass(frozen=True, slots=True)
class Attestor:
    """A cosign attestor, read. repository: where its signatures lie, None beside the image; prefix:
    of their tags; hash_name: that its key signs with."""

    checks: CheckOptions
    repository: RegistryReference | None = None
    prefix: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    hash_name: str = ""

    @property
    def bundled(self) -> bundles.BundleRequirements:
        """The requirements on bundles."""
        checks = self.checks
        key = None
        if checks.verifier is not None:
            key = Signer(checks.verifier.key, (self.hash_name or "sha256",))
        identities = [
            BundleIdentity(one.subject, one.subject_regexp, one.issuer, one.issuer_regexp)
            for one in checks.identities
        ]
        return bundles.BundleRequirements(
            checks.trust, key, identities, checks.ignores_log, checks.ignores_sct, checks.clock
        )


def read_attestor(body: Body, trust: TrustedRoots) -> Attestor:
    """Return an attestor's `cosign`, its expressions replaced with their values.

    Raises SignatureError in Kyverno's words; LookupFailed for a key or trusted root that stands
    elsewhere.
    """
    with within(_OPTIONS):
        return _read(body, trust)


def _read(body: Body, trust: TrustedRoots) -> Attestor:
    source, log = _object(body, "source"), _object(body, "ctlog")
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
    key = _object(body, "key")
    return Attestor(
        _signed_by(body, key, checks, trust.keys),
        repository,
        _text(source, "tagPrefix"),
        {name: str(value) for name, value in _object(body, "annotations").items()},
        _text(key, "hashAlgorithm"),
    )


def _trust(body: Body, log: Body, trust: TrustedRoots) -> Trust:
    """Return the policy's own trusted root, or the one in place of what Kyverno would fetch."""
    _check_complete(trust())
    if log and not log.get("insecureIgnoreTlog") and not log.get("url"):
        raise SignatureError("getting Rekor public keys:  rekor URL must be provided")
    own = _text(_object(body, "trustedRoot"), "value")
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


def _check_complete(fetched: Trust) -> None:
    """Require all parts that Kyverno would fetch, whether or not they count afterwards."""
    if not fetched.logs:
        raise SignatureError(
            "getting Rekor public keys: no Rekor public keys found in trusted root"
        )
    if not fetched.ct_logs:
        raise SignatureError(
            "getting CTLog public keys: no CTLog public keys found in trusted root"
        )
    if not any(one.root for one in fetched.authorities):
        raise SignatureError(
            "failed to fetch Fulcio material and trusted root fallback also failed: no "
            "certificate authority in trusted root"
        )


def _signed_by(body: Body, key: Body, checks: CheckOptions, keys: KeySource) -> CheckOptions:
    keyless = _object(body, "keyless")
    if keyless:
        if roots := _text(keyless, "roots"):
            pool_of(roots, "failed to load Root certificates")
        identities = keyless.get("identities") or []
        read = [_identity(one) for one in identities if isinstance(one, dict)]
        return replace(checks, identities=read)
    if key:
        return replace(checks, verifier=_key(key, keys)) if _names_key(key) else _any(checks)
    certificate = _object(body, "certificate")
    if certificate:
        return _certified(certificate, checks)
    raise SignatureError("cosign verifier needs to have one key, keyless or certificate fields set")


def _names_key(key: Body) -> bool:
    return bool(key.get("data") or key.get("kms"))


def _any(checks: CheckOptions) -> CheckOptions:
    """Return options without a signer: Kyverno then accepts any certificate of the trusted root."""
    if checks.trust is None and checks.roots is None:
        raise SignatureError("one of verifier, root certs, or trusted root is required")
    return checks


def _key(key: Body, keys: KeySource) -> KeyVerifier:
    data, kms, name = _text(key, "data"), _text(key, "kms"), _text(key, "hashAlgorithm")
    what = f"failed to load public key from {'PEM' if data else kms}"
    found = None if data else load_key(kms, keys, what)
    if name not in HASHES:
        raise SignatureError(f"{what}: invalid hash function specified")
    return read_verifier(data, name) if found is None else verifier_of(found, name, what)


def _certified(body: Body, checks: CheckOptions) -> CheckOptions:
    own = _text(_object(body, "cert"), "value")
    chain = _text(_object(body, "certChain"), "value")
    if own:
        certificate = read_signer(own)
        if not chain:
            return replace(checks, verifier=KeyVerifier(public_key(certificate)))
        checks = by_chain(checks, certificate, chain)
    if chain:
        return replace(checks, roots=pool_of(chain, "failed to load certificates"))
    return _any(checks)


def _identity(body: Body) -> Identity:
    return Identity(
        _text(body, "issuer"),
        _text(body, "subject"),
        _text(body, "issuerRegExp"),
        _text(body, "subjectRegExp"),
    )


def _object(body: Body, key: str) -> Body:
    value: Json = body.get(key)
    return value if isinstance(value, dict) else {}


def _text(body: Body, key: str) -> str:
    value: Json = body.get(key)
    return value if isinstance(value, str) else ""
