"""Sigstore bundles: which hold, and what is wrong with the others."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID

from chartkit.addons.signatures.bundles.signers import check_identity
from chartkit.addons.signatures.bundles.verifier import BundlePolicy, Clock
from chartkit.addons.signatures.trust.certificates import Identity
from chartkit.addons.signatures.trust.trusted_root import Trust, read_trusted_root
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body
from tests.addons.signatures.bundle_world import (
    ARTIFACT,
    BY,
    DIGEST,
    TYPE,
    WHO,
    World,
    check,
    known,
)
from tests.data import from_table
from tests.errors import error_of
from tests.signing.authority import (
    ISSUER_V2,
    NOW,
    CertificateLog,
    PrivateKey,
    authority,
    der,
    new_key,
    rsa_key,
    tlv,
)
from tests.signing.bundle import OLD_KIND, Maker, text
from tests.signing.cosign import Signer, statement
from tests.signing.tsa import Stamp, timestamp_server

STATEMENT = statement(DIGEST, TYPE, {"a": 1})


@pytest.mark.parametrize("clock", [Clock.LOGGED, Clock.STAMPED, Clock.OBSERVED, Clock.NOW])
@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("promised", [True, False])
def test_a_keyless_bundle(
    world: World, keyless: Body, clock: Clock, logged: bool, promised: bool
) -> None:
    checks = replace(world.keyless_checks(clock), logged=logged, promised=promised)
    if clock is Clock.LOGGED and not logged:
        with pytest.raises(SignatureError, match="log entry integrated timestamps: 0 < 1"):
            check(keyless, checks)
    else:
        assert check(keyless, checks) == STATEMENT


def test_a_certificate_that_nobody_dates(world: World, keyless: Body) -> None:
    with pytest.raises(SignatureError, match="must provide timestamp to verify certificate"):
        check(keyless, world.keyless_checks(Clock.NONE))
    late = replace(world.keyless_checks(Clock.NOW), now=NOW + timedelta(days=1))
    with pytest.raises(SignatureError, match="leaf certificate verification failed"):
        check(keyless, late)


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_older_formats(world: World, keyless: Body, version: str) -> None:
    old = {**keyless, "mediaType": OLD_KIND + version}
    material = dict(keyless["verificationMaterial"])
    if version != "3":
        chain = [material.pop("certificate"), {"rawBytes": text(der(world.authority.certificate))}]
        material["x509CertificateChain"] = {"certificates": chain}
    assert check({**old, "verificationMaterial": material}, world.keyless_checks()) == STATEMENT


def test_a_key(world: World) -> None:
    assert check(world.keyed.attest(DIGEST, TYPE, {"a": 1}), world.key_checks()) == STATEMENT
    alone = BundlePolicy(Trust(), Clock.NONE, known(world.key), logged=False)
    assert check(world.bare.attest(DIGEST, TYPE, {"a": 1}), alone) == STATEMENT


def test_a_bare_signature(world: World) -> None:
    assert check(world.keyless.message(ARTIFACT), world.keyless_checks()) is None
    assert check(world.keyed.message(ARTIFACT), world.key_checks()) is None
    with pytest.raises(SignatureError, match="artifact does not match digest"):
        check(world.keyless.message(b"another image"), world.keyless_checks())
    key = ed25519.Ed25519PrivateKey.generate()
    alone = BundlePolicy(Trust(), Clock.NONE, known(key), logged=False)
    with pytest.raises(SignatureError, match="can only be verified with artifacts"):
        check(Maker(Signer(key)).message(ARTIFACT), alone)


KEYS: dict[str, Callable[[], PrivateKey]] = {
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "RSA": rsa_key,
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
}
HASHES = {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}
OF_CERTIFICATES = {
    "P-256": {"sha256"},
    "P-384": {"sha384", "sha256"},
    "P-521": {"sha512", "sha256"},
    "RSA": {"sha256"},
    "Ed25519": set(HASHES),
}
"""The hashes that sigstore-go tries for a certificate's key; Ed25519 has its own."""


@pytest.mark.parametrize("kind", KEYS)
def test_kinds_of_keys(world: World, kind: str) -> None:
    key = KEYS[kind]()
    leaf = world.authority.leaf(email=WHO, issuer=BY, key=key)
    for algorithm, made in HASHES.items():
        bundle = Maker(Signer(key, made)).attest(DIGEST, TYPE, {})
        for wanted in HASHES:
            checks = BundlePolicy(Trust(), Clock.NONE, known(key, wanted), logged=False)
            assert _holds(bundle, checks) is (wanted == algorithm or kind == "Ed25519")
        bundle = Maker(Signer(key, made, leaf)).attest(DIGEST, TYPE, {})
        checks = replace(world.keyless_checks(Clock.NOW), logged=False)
        assert _holds(bundle, checks) is (algorithm in OF_CERTIFICATES[kind])


def _holds(bundle: Body, checks: BundlePolicy) -> bool:
    try:
        check(bundle, checks)
    except SignatureError as error:
        return "accepted signatures do not match threshold" not in error.message
    return True


def test_the_name_of_a_key_counts_where_there_is_one(world: World) -> None:
    fingerprint = serialization.ssh_key_fingerprint(world.key.public_key(), hashes.SHA256())
    named = f"SHA256:{base64.b64encode(fingerprint).decode().rstrip('=')}"
    payload = json.dumps(STATEMENT).encode()
    checks = BundlePolicy(Trust(), Clock.NONE, known(world.key), logged=False)
    assert check(world.bare.envelope(payload, keyid=named), checks) == STATEMENT
    with pytest.raises(SignatureError, match="accepted signatures do not match threshold"):
        check(world.bare.envelope(payload, keyid="the key"), checks)


def test_who_is_not_meant(world: World, keyless: Body) -> None:
    keyed = world.keyed.attest(DIGEST, TYPE, {})
    cases = {
        "expected key signature, not certificate": (keyless, world.key_checks()),
        "failed to verify log inclusion: transparency log certificate does not match": (
            keyed,
            replace(world.key_checks(), key=known(new_key())),
        ),
        "signature time outside of public key validity window": (
            keyed,
            replace(world.keyless_checks(Clock.NOW), logged=False),
        ),
        "failed to build policy: can't verify identities without providing at least one identity": (
            keyless,
            replace(world.keyless_checks(), identity=None),
        ),
        "SCTs required but bundle is signed with a public key, which cannot contain SCTs": (
            keyed,
            replace(world.key_checks(), promised=True),
        ),
    }
    for says, (bundle, checks) in cases.items():
        assert error_of(SignatureError, check, bundle, checks).message == says


@from_table("identity", "says")
def test_bundles_identities(world: World, keyless: Body, identity: list[str], says: str) -> None:
    checks = replace(world.keyless_checks(), identity=Identity(*identity))
    if not says:
        assert check(keyless, checks) == STATEMENT
        return
    assert error_of(SignatureError, check, keyless, checks).message == (
        "failed to verify certificate identity: no matching CertificateIdentity found, last error: "
        + says
    )


def test_identities_that_are_none() -> None:
    cases = {
        "error parsing regexp: missing closing ): `(`": Identity("", "(", BY, ""),
        "when verifying a certificate identity, must specify Issuer criteria": Identity(WHO),
        "when verifying a certificate identity, there must be subject alternative name criteria": (
            Identity("", "", BY, "")
        ),
    }
    for says, identity in cases.items():
        assert error_of(SignatureError, check_identity, identity).message == says


def test_what_certificates_say(world: World) -> None:
    checks = replace(world.keyless_checks(Clock.NOW), logged=False)

    def who(**given: object) -> str:
        leaf = world.authority.leaf(**given)  # type: ignore[arg-type]
        bundle = Maker(Signer.of(leaf)).attest(DIGEST, TYPE, {})
        nobody = Identity("nobody", "", "nobody", "")
        error = error_of(SignatureError, check, bundle, replace(checks, identity=nobody))
        return error.message.rpartition("got ")[2] or error.message

    uri = "https://github.com/team/app/.github/workflows/release.yml@refs/heads/main"
    assert who(uri=uri, email=WHO) == f'"{uri}"'
    assert who(issuer=BY) == "failed to summarize certificate: no Subject Alternative Name found"
    second = {ISSUER_V2: tlv(0x0C, BY.encode())}
    leaf = world.authority.leaf(email=WHO, issuer="older", extensions=second)
    assert check(Maker(Signer.of(leaf)).attest(DIGEST, TYPE, {}), checks)
    broken = {"1.3.6.1.4.1.57264.1.9": b"no text"}
    assert who(email=WHO, extensions=broken).endswith("unmarshalling DER-encoded string")


def test_whose_certificates_count(world: World) -> None:
    def refused(maker: Maker, trust: Trust = world.trust, promised: bool = False) -> str:
        checks = replace(world.keyless_checks(), trust=trust, promised=promised)
        return error_of(SignatureError, check, maker.attest(DIGEST, TYPE, {}), checks).message

    def of(**given: object) -> Maker:
        leaf = world.authority.leaf(email=WHO, issuer=BY, **given)  # type: ignore[arg-type]
        return Maker(Signer.of(leaf, world.log))

    failed = "failed to verify leaf certificate: leaf certificate verification failed"
    other = authority("somebody").intermediate().leaf(email=WHO, issuer=BY)
    assert refused(Maker(Signer.of(other, world.log))) == failed
    assert refused(of(usages=(ExtendedKeyUsageOID.SERVER_AUTH,))) == failed
    ended = replace(world.instance, end=NOW - timedelta(days=1))
    unlogged = replace(world.trust, authorities=read_trusted_root(ended.root).authorities)
    assert refused(world.keyless, unlogged) == failed
    day = timedelta(days=1)
    assert refused(of(start=NOW - 2 * day, lasts=day)) == (
        "failed to verify log inclusion: integrated time outside certificate validity"
    )
    missing = (
        "failed to verify signed certificate timestamp: only able to verify 0 SCT entries; unable "
        "to meet threshold of 1"
    )
    assert refused(of(), promised=True) == missing
    assert refused(of(log=CertificateLog()), promised=True) == missing


def test_a_certificate_that_has_expired_since_it_signed(world: World) -> None:
    day = timedelta(days=1)
    leaf = world.authority.leaf(email=WHO, issuer=BY, start=NOW - 3 * day, lasts=day)
    then = NOW - 2.5 * day
    logged = Maker(Signer.of(leaf, world.log, then)).attest(DIGEST, TYPE, {})
    assert check(logged, world.keyless_checks())
    stamped = Maker(Signer.of(leaf), [world.clock], Stamp(then)).attest(DIGEST, TYPE, {})
    assert check(stamped, replace(world.keyless_checks(Clock.STAMPED), logged=False))
    with pytest.raises(SignatureError, match="leaf certificate verification failed"):
        check(logged, replace(world.keyless_checks(Clock.NOW), logged=True))


STAMPS: dict[str, tuple[Callable[[World], Maker], str]] = {
    "nobody": (lambda world: replace(world.keyless, clocks=[]), "%!w(<nil>)"),
    "another clock": (
        lambda world: replace(world.keyless, clocks=[timestamp_server()]),
        "unable to verify signed timestamps: certificate embedded in the TSR does not match",
    ),
    "SHA-1": (
        lambda world: replace(world.keyless, stamp=Stamp(digest="sha1")),
        "unable to verify signed timestamps: weak hash algorithm",
    ),
    "two signers": (
        lambda world: replace(world.keyless, stamp=Stamp(signers=2)),
        "unable to verify signed timestamps: signer certificate was not found",
    ),
}


@pytest.mark.parametrize("name", STAMPS)
def test_time_stamps_that_do_not_count(world: World, name: str) -> None:
    make, says = STAMPS[name]
    with pytest.raises(SignatureError) as raised:
        check(make(world).attest(DIGEST, TYPE, {}), world.keyless_checks(Clock.STAMPED))
    start = (
        "failed to verify timestamps: threshold not met for verified signed timestamps: 0 < 1; "
        "error: "
    )
    assert raised.value.message.startswith(start + says)


def test_several_time_stamps(world: World) -> None:
    checks = world.keyless_checks(Clock.STAMPED)
    for clocks in ([timestamp_server(), world.clock], [world.clock] * 32):
        bundle = replace(world.keyless, clocks=clocks).attest(DIGEST, TYPE, {"a": 1})
        assert check(bundle, checks) == STATEMENT
    many = replace(world.keyless, clocks=[world.clock] * 33).attest(DIGEST, TYPE, {})
    with pytest.raises(SignatureError, match="too many signed timestamps: 33 > 32"):
        check(many, checks)
    early = replace(world.instance, start=NOW + timedelta(days=1))
    unlogged = replace(checks, trust=read_trusted_root(early.root), logged=False)
    with pytest.raises(SignatureError, match="timestamp is before the validity period start"):
        check(world.keyless.attest(DIGEST, TYPE, {}), unlogged)
