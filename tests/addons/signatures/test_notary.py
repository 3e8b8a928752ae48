"""Signatures of the Notary Project, as ClusterPolicies ask for them; beside each case stands what
Kyverno's own program said of it."""

from datetime import UTC, datetime, timedelta
from typing import Final

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from chartkit.addons.signatures import notary
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest, Verified
from chartkit.errors import LookupFailed
from tests.signing import notary as kit
from tests.signing.authority import NOW, YEAR, der, pem
from tests.signing.notary_bench import (
    OCSP,
    PLUGIN,
    REVOKED,
    Bench,
    Case,
    alone,
    asked,
    by,
    chained,
    changed,
    changed_cose,
    crowded,
    curved,
    flipped,
    layered,
    leaf,
    many,
    nobody,
    odd_name,
    of_key,
    packed,
    plain,
    protected,
    pushed,
    read_answers,
    rsa_root,
    salted,
    short_path,
    sign1,
    signed,
    under_ed25519,
    weakly,
    without_blob,
    without_payload,
)
from tests.unit.network.registry.registry_server import Registry

HOUR: Final = timedelta(hours=1)
ROOT, BETWEEN, SIGNER = kit.root, kit.intermediate, kit.signer
CASES: Final[dict[str, Case]] = {
    # Sound ones.
    "jws": Case(signed()),
    "cose": Case(signed(is_cose=True)),
    "rsa": Case(by(kit.rsa_signer)),
    "rsa-cose": Case(by(kit.rsa_signer, is_cose=True)),
    "p384": Case(by(lambda: curved(ec.SECP384R1()))),
    "p521-cose": Case(by(lambda: curved(ec.SECP521R1()), is_cose=True)),
    "by-digest": Case(signed(), reference="@"),
    "intermediate-trusted": Case(signed(), trusted=lambda: BETWEEN().pem),
    "leaf-trusted": Case(signed(), trusted=lambda: SIGNER().pem),
    "trusted-by-chain": Case(signed(), trusted=str, chain=lambda: ROOT().pem),
    "cert-and-chain": Case(signed(), trusted=lambda: kit.stranger().pem, chain=lambda: ROOT().pem),
    "self-signed": Case(by(alone), trusted=lambda: alone().pem),
    "no-purpose": Case(leaf(kit.Wish(purposes=()))),
    "expiring-later": Case(signed(kit.Signing(expiry=NOW + HOUR))),
    "expiring-later-cose": Case(signed(kit.Signing(expiry=NOW + HOUR), is_cose=True)),
    "one-good": Case(many(good=1, bad=3)),
    "tenth-is-good": Case(many(good=1, bad=9)),
    # Nobody who counts.
    "unsigned": Case(nobody),
    "stranger": Case(by(kit.stranger)),
    "no-pem": Case(signed(), trusted=lambda: "no certificate"),
    "two-strangers": Case(many(good=0, bad=2)),
    "ten-strangers": Case(many(good=0, bad=10)),
    "eleventh-is-good": Case(many(good=1, bad=10)),
    "signing-authority": Case(signed(kit.Signing(scheme=kit.AUTHORITY))),
    "signing-authority-cose": Case(signed(kit.Signing(scheme=kit.AUTHORITY), is_cose=True)),
    # Time.
    "expired": Case(signed(kit.Signing(at=NOW - 2 * HOUR, expiry=NOW - HOUR))),
    "expired-cose": Case(signed(kit.Signing(at=NOW - 2 * HOUR, expiry=NOW - HOUR), is_cose=True)),
    "expiry-before-signing": Case(signed(kit.Signing(expiry=NOW - HOUR))),
    "leaf-expired": Case(leaf(kit.Wish(start=NOW - YEAR, end=NOW - HOUR))),
    "leaf-not-yet": Case(leaf(kit.Wish(start=NOW + HOUR, end=NOW + YEAR))),
    "no-signing-time": Case(signed(protected({kit.SIGNED_AT: None}))),
    "no-signing-time-cose": Case(signed(protected({kit.SIGNED_AT: None}), is_cose=True)),
    "untagged-time-cose": Case(signed(protected({kit.SIGNED_AT: 1_700_000_000}), is_cose=True)),
    "text-time-cose": Case(
        signed(protected({kit.SIGNED_AT: cbor2.CBORTag(0, "2026-01-01T00:00:00Z")}), is_cose=True)
    ),
    "both-times": Case(signed(protected({kit.SIGNED_FOR_SURE_AT: "2026-01-01T00:00:00Z"}))),
    # What was changed.
    "payload-changed": Case(changed("payload", flipped)),
    "signature-changed": Case(changed("signature", flipped)),
    "signature-changed-cose": Case(changed_cose(3)),
    "payload-changed-cose": Case(changed_cose(2)),
    "signature-changed-rsa": Case(changed("signature", flipped, kit.rsa_signer)),
    "another-image": Case(
        lambda bench: bench.sign(SIGNER(), content=kit.payload({**bench.image(), "size": 1}))
    ),
    "another-type": Case(
        lambda bench: bench.sign(
            SIGNER(), content=kit.payload({**bench.image(), "mediaType": "text/plain"})
        )
    ),
    "no-target": Case(lambda bench: bench.sign(SIGNER(), content=b"{}")),
    "payload-no-object": Case(lambda bench: bench.sign(SIGNER(), content=b"[]")),
    "payload-no-object-cose": Case(lambda bench: bench.sign(SIGNER(), content=b"[]", is_cose=True)),
    "payload-empty-cose": Case(lambda bench: bench.sign(SIGNER(), content=b"", is_cose=True)),
    "target-no-object": Case(lambda bench: bench.sign(SIGNER(), content=b'{"targetArtifact":1}')),
    # Headers.
    "other-content": Case(signed(protected({"cty": "application/json"}))),
    "other-content-cose": Case(signed(protected({"cty": "application/json"}), is_cose=True)),
    "content-number-cose": Case(signed(protected({"cty": 50}), is_cose=True)),
    "no-content-cose": Case(signed(protected({"cty": None}), is_cose=True)),
    "no-crit": Case(signed(protected({"crit": None}))),
    "no-crit-cose": Case(signed(protected({"crit": None}), is_cose=True)),
    "empty-crit-cose": Case(signed(protected({"crit": []}), is_cose=True)),
    "crit-absent": Case(signed(protected({"crit": [kit.SCHEME, "io.example"]}))),
    "crit-absent-cose": Case(signed(protected({"crit": [kit.SCHEME, "io.example"]}), is_cose=True)),
    "crit-unknown": Case(
        signed(protected({"crit": [kit.SCHEME, "io.example"], "io.example": "x"}))
    ),
    "crit-unknown-cose": Case(
        signed(protected({"crit": [kit.SCHEME, "io.example"], "io.example": "x"}), is_cose=True)
    ),
    "expiry-not-critical": Case(
        signed(kit.Signing(expiry=NOW + HOUR, protected={"crit": [kit.SCHEME]}))
    ),
    "expiry-not-critical-cose": Case(
        signed(kit.Signing(expiry=NOW + HOUR, protected={"crit": [kit.SCHEME]}), is_cose=True)
    ),
    "plugin": Case(signed(protected({"crit": [kit.SCHEME, PLUGIN], PLUGIN: "example"}))),
    "plugin-not-critical": Case(signed(protected({PLUGIN: "example"}))),
    "plugin-empty": Case(signed(protected({"crit": [kit.SCHEME, PLUGIN], PLUGIN: " "}))),
    "plugin-number": Case(signed(protected({"crit": [kit.SCHEME, PLUGIN], PLUGIN: 1}))),
    "no-scheme": Case(signed(protected({kit.SCHEME: None}))),
    "no-scheme-cose": Case(
        signed(protected({kit.SCHEME: None, "crit": [kit.SIGNED_AT]}), is_cose=True)
    ),
    "other-scheme": Case(signed(protected({kit.SCHEME: "notary.other"}))),
    "other-scheme-cose": Case(signed(protected({kit.SCHEME: "notary.other"}), is_cose=True)),
    "algorithm-none": Case(signed(protected({"alg": "none"}))),
    "algorithm-hmac": Case(signed(protected({"alg": "HS256"}))),
    "algorithm-unknown": Case(signed(protected({"alg": "XX"}))),
    "algorithm-absent": Case(signed(protected({"alg": None}))),
    "algorithm-of-other-key": Case(signed(protected({"alg": "PS256"}))),
    "algorithm-of-other-key-rsa": Case(
        lambda bench: bench.sign(kit.rsa_signer(), protected({"alg": "ES256"}))
    ),
    "algorithm-absent-cose": Case(signed(protected({"alg": None}), is_cose=True)),
    "algorithm-unlike-cose": Case(signed(protected({"alg": -37}), is_cose=True)),
    "hash-unlike-curve": Case(
        lambda bench: bench.sign(curved(ec.SECP384R1()), kit.Signing(algorithm="ES256"))
    ),
    "hash-unlike-size": Case(
        lambda bench: bench.sign(kit.rsa_signer(), kit.Signing(algorithm="PS512"))
    ),
    # Certificates.
    "no-chain": Case(signed(kit.Signing(chain=()))),
    "no-chain-cose": Case(signed(kit.Signing(chain=()), is_cose=True)),
    "chain-garbage": Case(signed(kit.Signing(chain=(b"x",)))),
    "chain-garbage-cose": Case(signed(kit.Signing(chain=(b"x",)), is_cose=True)),
    "chain-garbage-behind": Case(chained(SIGNER, None, None)),
    "chain-one-in-list-cose": Case(
        lambda bench: bench.sign(
            SIGNER(), kit.Signing(header={"x5c": der(SIGNER().certificate)}), is_cose=True
        )
    ),
    "chain-unordered": Case(chained(SIGNER, ROOT, BETWEEN)),
    "chain-without-root": Case(chained(SIGNER, BETWEEN), trusted=lambda: BETWEEN().pem),
    "chain-leaf-alone": Case(chained(SIGNER), trusted=lambda: SIGNER().pem),
    "chain-two-roots": Case(chained(SIGNER, BETWEEN, ROOT, ROOT)),
    "chain-without-between": Case(chained(SIGNER, ROOT)),
    "leaf-for-servers": Case(leaf(kit.Wish(purposes=(ExtendedKeyUsageOID.SERVER_AUTH,)))),
    "leaf-for-time": Case(
        leaf(
            kit.Wish(purposes=(ExtendedKeyUsageOID.CODE_SIGNING, ExtendedKeyUsageOID.TIME_STAMPING))
        )
    ),
    "leaf-without-usage": Case(leaf(kit.Wish(uses=None))),
    "leaf-usage-not-critical": Case(leaf(kit.Wish(uses_critical=False))),
    "leaf-not-for-signing": Case(leaf(kit.Wish(uses=("key_encipherment",)))),
    "leaf-for-more": Case(
        leaf(kit.Wish(uses=("digital_signature", "key_encipherment", "key_cert_sign")))
    ),
    "leaf-an-authority": Case(
        leaf(kit.Wish(is_authority=True, uses=("digital_signature", "key_cert_sign")))
    ),
    "leaf-of-nist-p224": Case(by(lambda: curved(ec.SECP224R1()))),
    "path-too-long": Case(by(short_path), trusted=lambda: pem(short_path().chain[-1])),
    "issuer-no-authority": Case(by(lambda: kit.certify("signer", SIGNER()))),
    "issuer-not-for-certificates": Case(
        by(lambda: kit.certify("x", kit.certify("y", ROOT(), kit.Wish(is_authority=True))))
    ),
    "signed-with-sha1": Case(weakly(b"\x05"), trusted=lambda: rsa_root().pem),
    "signed-with-md5": Case(weakly(b"\x04"), trusted=lambda: rsa_root().pem),
    "with-ocsp": Case(leaf(kit.Wish(further=(OCSP,)))),
    "with-crl": Case(leaf(kit.Wish(further=(REVOKED,)))),
    "leaf-of-ed25519": Case(by(lambda: of_key(ed25519.Ed25519PrivateKey.generate()))),
    "leaf-of-ed25519-cose": Case(
        by(lambda: of_key(ed25519.Ed25519PrivateKey.generate()), is_cose=True, algorithm="ES256")
    ),
    "leaf-of-p224-cose": Case(by(lambda: curved(ec.SECP224R1()), is_cose=True, algorithm="ES256")),
    "leaf-of-rsa-1024": Case(by(lambda: of_key(rsa.generate_private_key(65537, 1024)))),
    "root-of-ed25519": Case(by(under_ed25519), trusted=lambda: pem(under_ed25519().chain[-1])),
    "odd-name": Case(by(odd_name), trusted=lambda: kit.stranger().pem),
    "odd-name-expired": Case(by(odd_name)),
    # Envelopes that are none.
    "no-json": Case(pushed(b"x")),
    "empty": Case(pushed(b"")),
    "json-array": Case(pushed(b"[]")),
    "empty-object": Case(pushed(b"{}")),
    "no-cbor": Case(pushed(b"x", kit.COSE)),
    "untagged-cbor": Case(pushed(b"\x84", kit.COSE)),
    "cbor-cut": Case(pushed(b"\xd2\x84\x40", kit.COSE)),
    "other-envelope": Case(pushed(b"x", "application/octet-stream")),
    "protected-no-base64": Case(changed("protected", lambda _: "!")),
    "protected-no-json": Case(changed("protected", lambda _: "eA")),
    "payload-no-base64": Case(changed("payload", lambda _: "!")),
    "payload-no-json": Case(changed("payload", lambda _: "eA")),
    "signature-no-base64": Case(changed("signature", lambda _: "!")),
    "signature-empty": Case(changed("signature", lambda _: "")),
    "signature-short": Case(changed("signature", lambda _: "eA")),
    "dots-in-payload": Case(changed("payload", lambda text: f"{text}.{text}")),
    "payload-a-number": Case(pushed(b'{"payload":1}')),
    "header-an-array": Case(pushed(b'{"header":[]}')),
    "chain-a-text": Case(pushed(b'{"header":{"x5c":"x"}}')),
    "chain-no-base64": Case(pushed(b'{"header":{"x5c":["!"]}}')),
    "chain-a-number": Case(pushed(b'{"header":{"x5c":[1]}}')),
    "nulls": Case(pushed(b'{"header":null,"payload":null}')),
    "crit-a-text": Case(signed(protected({"crit": "x"}))),
    "crit-a-number": Case(signed(protected({"crit": [1]}))),
    "crit-twice": Case(signed(protected({"crit": [kit.SCHEME, kit.SCHEME]}))),
    "crit-signing-time": Case(signed(protected({"crit": [kit.SCHEME, kit.SIGNED_AT]}))),
    "type-a-number": Case(signed(protected({"cty": 1}))),
    "scheme-a-number": Case(signed(protected({kit.SCHEME: 1}))),
    "time-a-number": Case(signed(protected({kit.SIGNED_AT: 1}))),
    "time-no-time": Case(signed(protected({kit.SIGNED_AT: "now"}))),
    "time-with-zone": Case(signed(protected({kit.SIGNED_AT: "2026-01-02T03:04:05.5+05:30"}))),
    "time-of-year-one": Case(signed(protected({kit.SIGNED_AT: "0001-01-01T00:00:00Z"}))),
    "expired-in-zone": Case(
        signed(
            kit.Signing(
                at=datetime(2026, 1, 1, tzinfo=UTC),
                expiry=NOW - HOUR,
                protected={kit.EXPIRY: "2026-01-02T03:04:05.5+05:30"},
            )
        )
    ),
    "sure-without-time": Case(
        signed(kit.Signing(scheme=kit.AUTHORITY, protected={kit.SIGNED_FOR_SURE_AT: None}))
    ),
    "sure-with-other-time": Case(
        signed(kit.Signing(scheme=kit.AUTHORITY, protected={kit.SIGNED_AT: "2026-01-01T00:00:00Z"}))
    ),
    "sure-not-critical": Case(
        signed(kit.Signing(scheme=kit.AUTHORITY, protected={"crit": [kit.SCHEME]}))
    ),
    "plugin-cose": Case(
        signed(protected({"crit": [kit.SCHEME, PLUGIN], PLUGIN: "example"}), is_cose=True)
    ),
    "expired-in-fractions-cose": Case(
        signed(
            kit.Signing(
                at=NOW - YEAR, expiry=NOW, protected={kit.EXPIRY: cbor2.CBORTag(1, 1.5e9 + 0.25)}
            ),
            is_cose=True,
        )
    ),
    "time-before-1970-cose": Case(
        signed(protected({kit.SIGNED_AT: cbor2.CBORTag(1, -5)}), is_cose=True)
    ),
    "crit-no-list-cose": Case(signed(protected({"crit": "x"}), is_cose=True)),
    "crit-a-float-cose": Case(signed(protected({"crit": [1.5]}), is_cose=True)),
    "algorithm-a-list-cose": Case(signed(protected({"alg": []}), is_cose=True)),
    "algorithm-a-text-cose": Case(signed(protected({"alg": "XX"}), is_cose=True)),
    "content-no-type-cose": Case(signed(protected({"cty": "json"}), is_cose=True)),
    "content-empty-cose": Case(signed(protected({"cty": ""}), is_cose=True)),
    "content-with-space-cose": Case(signed(protected({"cty": "a/b "}), is_cose=True)),
    "content-negative-cose": Case(signed(protected({"cty": -1}), is_cose=True)),
    "crit-unprotected-cose": Case(signed(kit.Signing(header={2: [1]}), is_cose=True)),
    "key-id-a-text-cose": Case(signed(kit.Signing(header={4: "x"}), is_cose=True)),
    "label-a-float-cose": Case(signed(kit.Signing(header={1.5: 1}), is_cose=True)),
    "label-a-float-protected-cose": Case(signed(kit.Signing(protected={1.5: 1}), is_cose=True)),
    "chain-of-numbers-cose": Case(signed(kit.Signing(header={"x5c": [1]}), is_cose=True)),
    "protected-empty-cose": Case(pushed(sign1(b"", {}, b"x", b"y"), kit.COSE)),
    "protected-a-list-cose": Case(pushed(sign1(b"\x80", {}, b"x", b"y"), kit.COSE)),
    "protected-null-cose": Case(pushed(sign1(None, {}, b"x", b"y"), kit.COSE)),
    "protected-a-text-cose": Case(pushed(sign1("x", {}, b"x", b"y"), kit.COSE)),
    "unprotected-a-list-cose": Case(pushed(sign1(b"\xa0", [], b"x", b"y"), kit.COSE)),
    "payload-a-text-cose": Case(pushed(sign1(b"\xa0", {}, "x", b"y"), kit.COSE)),
    "payload-null-cose": Case(lambda bench: bench.push(without_payload(), kit.COSE)),
    "signature-null-cose": Case(pushed(sign1(b"\xa0", {}, b"x", None), kit.COSE)),
    "signature-empty-cose": Case(pushed(sign1(b"\xa0", {}, b"x", b""), kit.COSE)),
    "tag-in-unprotected-cose": Case(
        signed(kit.Signing(header={"x": cbor2.CBORTag(1, 5)}), is_cose=True)
    ),
    "bytes-behind-cose": Case(
        lambda bench: bench.push(kit.cose(SIGNER(), kit.payload(bench.image())) + b"\x00", kit.COSE)
    ),
    "twice-in-protected-cose": Case(
        pushed(sign1(b"\xa2\x01\x26\x01\x26", {}, b"x", b"y"), kit.COSE)
    ),
    "packed": Case(packed),
    "short-salt": Case(salted(is_cose=False)),
    "short-salt-cose": Case(salted(is_cose=True)),
    # Referrers.
    "fifty-one": Case(crowded(50)),
    "fifty": Case(crowded(49)),
    "two-layers": Case(layered(2)),
    "missing-blob": Case(without_blob),
}


ANSWERS: Final = read_answers("signatures")
_NOBODY_ASKED: Final = ": responders (OCSP) and revocation lists are not asked"
OWN_WORDS: Final = {
    "with-ocsp": ("", _NOBODY_ASKED),
    "with-crl": ("", _NOBODY_ASKED),
    "twice-in-protected-cose": (
        "found duplicate map key cose.headerLabelValidator{value:1} at map element index N",
        "error decoding map: Duplicate map key: 1",
    ),
}
"""Where the end of a message is worded here, in place of Kyverno's."""
OPEN: Final = frozenset({"with-ocsp", "with-crl"})
"""Kyverno fails where nobody answers, which is an error here: nobody is asked."""


@pytest.mark.parametrize("name", CASES)
def test_signatures_are_judged_as_by_kyverno(name: str, registry: Registry) -> None:
    case, bench = CASES[name], Bench(registry, f"team/{name}")
    digest = bench.image()["digest"]
    case.build(bench)
    image = f"{registry.host}/{bench.repository}"
    reference = f"{image}@{digest}" if case.reference == "@" else image + case.reference
    question = VerificationRequest(
        reference, kind="Notary", cert=case.trusted(), cert_chain=case.chain()
    )
    if not ANSWERS[name]:
        assert notary.verify_signature(asked(), question) == Verified(digest)
        return
    with pytest.raises(LookupFailed) as caught:
        notary.verify_signature(asked(), question)
    theirs, own = OWN_WORDS.get(name, ("", ""))
    assert ANSWERS[name].endswith(theirs)
    assert plain(caught.value.message, image) == ANSWERS[name].removesuffix(theirs) + own
    assert isinstance(caught.value, SignatureError) is (name not in OPEN)


def test_nobody_is_trusted_where_no_certificate_is_given(registry: Registry) -> None:
    bench = Bench(registry, "team/nobody-trusted")
    bench.sign(kit.signer())
    question = VerificationRequest(f"{registry.host}/{bench.repository}:1", kind="Notary")
    with pytest.raises(SignatureError, match="no trusted certificates are found to verify"):
        notary.verify_signature(asked(), question)


def test_kyvernos_answer_is_known_for_every_case_of_notary() -> None:
    assert ANSWERS.keys() == CASES.keys()
