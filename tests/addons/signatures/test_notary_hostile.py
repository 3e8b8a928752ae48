"""Signatures that are meant to do harm: each is refused in one line, and soon."""

import base64
import gc
import gzip
import json
import random
from collections.abc import Callable, Iterator
from typing import Final

import cbor2
import pytest
from cryptography import x509

from chartkit.addons.signatures import notary
from chartkit.addons.signatures.notary import cose, jws
from chartkit.addons.signatures.notary.verification import (
    Repository,
    Target,
    TrustStore,
    check_envelope,
    verify,
)
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.engine.scalars.image_reference import parse_reference
from chartkit.errors import LookupFailed
from tests.signing import notary as kit
from tests.signing.authority import NOW, der
from tests.signing.notary_bench import Bench, asked, sign1
from tests.unit.network.registry.registry_server import MANIFEST, Registry

TARGET: Final = Target(MANIFEST, "sha256:" + "0" * 64, 7)
PAYLOAD: Final = kit.payload({"mediaType": MANIFEST, "digest": TARGET.digest, "size": 7})
TRUST: Final = TrustStore((kit.root().certificate,))
MANY: Final = 100_000


@pytest.fixture(scope="module", autouse=True)
def _objects_of_other_tests() -> Iterator[None]:
    """Sets them aside: each collection would look at all of them again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _garbage_of_other_tests() -> Iterator[None]:
    """Collects it first: finalizers that run at the recursion limit fail, and not these tests."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def refused(envelope: bytes, media_type: str) -> str:
    with pytest.raises(SignatureError) as caught:
        check_envelope(envelope, media_type, TARGET, TRUST)
    message = caught.value.message
    assert len(message) < 2100
    assert message.isprintable()
    return message


def envelope(**members: object) -> bytes:
    return json.dumps(members).encode()


def headed(text: str) -> bytes:
    """A sound envelope with other protected headers, whose signature does not hold."""
    sound = json.loads(kit.jws(kit.signer(), PAYLOAD))
    return json.dumps({**sound, "protected": kit.encoded64(text.encode())}).encode()


def signed_with(headers: kit.Header) -> bytes:
    return kit.jws(kit.signer(), PAYLOAD, kit.Signing(protected=headers))


IN_JSON: Final[dict[str, Callable[[], bytes]]] = {
    "deep": lambda: b"[" * MANY,
    "deep-objects": lambda: b'{"header":' * 5000 + b"1" + b"}" * 5000,
    "deep-headers": lambda: headed("[" * MANY),
    "deep-and-escaped": lambda: b'{"\\u0061":' * 900 + b"1" + b"}" * 900,
    "no-text": lambda: b"\xff\xfe\x00",
    "many-certificates": lambda: envelope(header={"x5c": ["AA=="] * MANY}),
    "no-certificate": lambda: envelope(header={"x5c": ["AA=="]}),
    "long-number": lambda: b'{"payload":' + b"9" * MANY + b"}",
    "half-a-pair": lambda: b'{"payload":"\\ud800","header":{"x5c":["AA=="]}}',
    "other-letters": lambda: envelope(PAYLOAD="x"),
    "other-letters-in-headers": lambda: signed_with({"CTY": "x"}),
    "foreign-letter": lambda: signed_with({"io.cncf.notary.\u017figningTime": "x"}),
    "late-expiry": lambda: signed_with({kit.EXPIRY: "9999-12-31T23:59:59-23:59"}),
    "early-expiry": lambda: kit.jws(
        kit.signer(),
        PAYLOAD,
        kit.Signing(
            expiry=NOW,
            protected={
                kit.SIGNED_AT: "0000-01-01T00:00:00Z",
                kit.EXPIRY: "0001-01-01T00:00:00+23:59",
            },
        ),
    ),
    "lines-in-scheme": lambda: signed_with({kit.SCHEME: "a\nb" * MANY}),
    "no-date": lambda: signed_with({kit.SIGNED_AT: "2026-02-30T00:00:00Z"}),
    "many-critical": lambda: signed_with({"crit": ["x"] * MANY}),
    "critical-object": lambda: signed_with({"crit": [{}]}),
    "long-chain": lambda: kit.jws(
        kit.signer(), PAYLOAD, kit.Signing(chain=(der(kit.signer().certificate),) * 101)
    ),
    "same-certificate": lambda: kit.jws(
        kit.signer(), PAYLOAD, kit.Signing(chain=(der(kit.signer().certificate),) * 100)
    ),
    "time-stamp-no-text": lambda: kit.jws(
        kit.signer(), PAYLOAD, kit.Signing(header={kit.STAMP: 1})
    ),
}
DEEP: Final = b"\x81" * MANY
IN_CBOR: Final[dict[str, Callable[[], bytes]]] = {
    "deep": lambda: b"\xd2\x84" + DEEP,
    "deep-tags": lambda: b"\xd2\x84" + b"\xc1" * MANY,
    "deep-in-headers": lambda: sign1(b"\xa1\x61x" + DEEP, {}, b"x", b"y"),
    "long-bytes": lambda: b"\xd2\x84\x5b\x7f" + b"\xff" * 7,
    "long-array": lambda: b"\xd2\x84\x9b\x7f" + b"\xff" * 7,
    "long-map": lambda: b"\xd2\x84\x40\xbb\x7f" + b"\xff" * 7,
    "unending": lambda: b"\xd2\x84\x5f\x41\x00\xff\xa0\x40\x40",
    "no-utf-8": lambda: b"\xd2\x84\x40\xa1\x61\xff\x01\x41x\x41y",
    "not-four": lambda: b"\xd2\x84\x40\xa0\x41x",
    "expression": lambda: sign1(cbor2.dumps({"x": cbor2.CBORTag(35, "(a+)+$")}), {}, b"x", b"y"),
    "shared": lambda: sign1(b"\xa1\x61x\xd8\x1c\x81\xd8\x1d\x00", {}, b"x", b"y"),
    "large-decimal": lambda: sign1(b"\xa1\x61x\xc4\x82\x1a\x7f\xff\xff\xff\x01", {}, b"x", b"y"),
    "large-number": lambda: sign1(b"\xa1\x61x\xc2\x59\x03\xe8" + b"\xff" * 1000, {}, b"x", b"y"),
    "no-number": lambda: kit.cose(
        kit.signer(), PAYLOAD, kit.Signing(protected={kit.SIGNED_AT: cbor2.CBORTag(1, 1e300)})
    ),
    "not-a-number": lambda: kit.cose(
        kit.signer(),
        PAYLOAD,
        kit.Signing(protected={kit.SIGNED_AT: cbor2.CBORTag(1, float("nan"))}),
    ),
    "truth-for-one": lambda: sign1(b"\xa1\xf5\x26", {}, b"x", b"y"),
    "a-float-for-one": lambda: sign1(b"\xa1\xf9\x3c\x00\x26", {}, b"x", b"y"),
    "many-certificates": lambda: sign1(b"\xa1\x01\x26", {33: [b"x"] * MANY}, b"x", b"y"),
}


@pytest.mark.parametrize("name", IN_JSON)
def test_hostile_json_is_refused(name: str) -> None:
    refused(IN_JSON[name](), jws.MEDIA_TYPE)


@pytest.mark.parametrize("name", IN_CBOR)
def test_hostile_cbor_is_refused(name: str) -> None:
    refused(IN_CBOR[name](), cose.MEDIA_TYPE)


@pytest.mark.parametrize("kind", [jws.MEDIA_TYPE, cose.MEDIA_TYPE])
def test_an_envelope_is_read_as_what_it_is_said_to_be(kind: str) -> None:
    other = kit.cose if kind == jws.MEDIA_TYPE else kit.jws
    assert refused(other(kit.signer(), PAYLOAD), kind).startswith("unable to parse the digital")


def changes(sound: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Bytes changed, left out, doubled or cut off."""
    rng = random.Random(seed)
    for _ in range(count):
        at, raw = rng.randrange(len(sound)), bytearray(sound)
        match rng.randrange(4):
            case 0:
                raw[at] ^= 1 << rng.randrange(8)
            case 1:
                del raw[at : at + rng.randrange(1, 9)]
            case 2:
                raw[at:at] = raw[at : at + rng.randrange(1, 9)]
            case _:
                del raw[at:]
        yield bytes(raw)


def outcome(raw: bytes, media_type: str) -> bool:
    """Whether an envelope is taken; it has to be refused in one line otherwise."""
    try:
        check_envelope(raw, media_type, TARGET, TRUST)
    except SignatureError as error:
        message = error.message
    else:
        return True
    assert message.isprintable()
    return False


@pytest.mark.parametrize("seed", range(3))
def test_changed_envelopes_are_refused_in_a_line(seed: int) -> None:
    for media_type, make in ((jws.MEDIA_TYPE, kit.jws), (cose.MEDIA_TYPE, kit.cose)):
        sound = make(kit.signer(), PAYLOAD)
        assert outcome(sound, media_type)
        for raw in changes(sound, seed, 150):
            outcome(raw, media_type)


def test_no_changed_payload_or_header_is_taken() -> None:
    sound = json.loads(kit.jws(kit.signer(), PAYLOAD))
    for member in ("payload", "protected", "signature"):
        decoded = base64.urlsafe_b64decode(sound[member] + "==")
        for raw in changes(decoded, 1, 60):
            changed = kit.encoded64(raw)
            if changed != sound[member]:
                body = json.dumps({**sound, member: changed}).encode()
                assert not outcome(body, jws.MEDIA_TYPE)


def signed_part(certificate: bytes) -> bytes:
    return x509.load_der_x509_certificate(certificate).tbs_certificate_bytes


def test_changed_certificates_are_refused_in_a_line() -> None:
    chain = [der(one) for one in kit.signer().chain]
    for index, count in ((0, 300), (1, 200)):
        for raw in changes(chain[index], index, count):
            changed = [*chain[:index], raw, *chain[index + 1 :]]
            envelope = kit.jws(kit.signer(), PAYLOAD, kit.Signing(chain=tuple(changed)))
            # Bits that nobody signs are nobody's matter.
            if outcome(envelope, jws.MEDIA_TYPE):
                assert signed_part(raw) == signed_part(chain[index])


def asking(registry: Registry, name: str, manifest: object) -> VerificationRequest:
    """About an image with a signature manifest of this content."""
    bench = Bench(registry, f"hostile/{name}")
    image = bench.image()["digest"]
    digest = registry.add(bench.repository, "", MANIFEST, manifest)
    listed = {**registry.descriptor(bench.repository, digest), "artifactType": kit.SIGNATURE}
    registry.list_referrers(bench.repository, image, [listed])
    reference = f"{registry.host}/{bench.repository}:1"
    return VerificationRequest(reference, kind="Notary", cert=kit.root().pem)


LAYERS: Final = {
    "no-object": [],
    "no-layers": {},
    "empty-layers": {"layers": []},
    "layers-no-list": {"layers": "x"},
    "layer-no-object": {"layers": [1]},
    "no-digest": {"layers": [{"size": 1}]},
    "no-size": {"layers": [{"digest": "sha256:" + "0" * 64}]},
    "size-a-truth": {"layers": [{"digest": "sha256:" + "0" * 64, "size": True}]},
    "negative": {"layers": [{"digest": "sha256:" + "0" * 64, "size": -1}]},
    "huge": {"layers": [{"digest": "sha256:" + "0" * 64, "size": 10_000_001}]},
    "other-digest": {"layers": [{"digest": "md5:00", "size": 1}]},
    "a-path": {"layers": [{"digest": "sha256:../../x", "size": 1}]},
}


@pytest.mark.parametrize("name", LAYERS)
def test_manifests_that_are_none_are_refused(name: str, registry: Registry) -> None:
    question = asking(registry, name, LAYERS[name])
    with pytest.raises(SignatureError, match="unable to retrieve digital signature with digest"):
        notary.verify_signature(asked(), question)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(bytes(20_000_000)), "unpacks to more than"),
        (b"\x1f\x8b" + b"x" * 20, "gzip: invalid header"),
        (gzip.compress(b"{}" * 50)[:-12], "unexpected EOF"),
        (b"\x28\xb5\x2f\xfdx", "packed with Zstandard"),
    ],
)
def test_packed_layers_that_harm_are_refused(content: bytes, what: str, registry: Registry) -> None:
    blob = registry.add_blob("hostile/packed", content, kit.JWS)
    question = asking(registry, "packed", {"layers": [blob]})
    with pytest.raises(LookupFailed, match=what):
        notary.verify_signature(asked(), question)


@pytest.mark.parametrize("trusted", ["-----BEGIN CERTIFICATE-----\n", "x" * MANY, "\x00"])
def test_a_policy_s_certificates_that_are_none_are_refused(
    trusted: str, registry: Registry
) -> None:
    bench = Bench(registry, "hostile/trusted")
    bench.sign(kit.signer())
    question = VerificationRequest(
        f"{registry.host}/{bench.repository}:1", kind="Notary", cert=trusted
    )
    with pytest.raises(SignatureError, match="failed to parse certificates: "):
        notary.verify_signature(asked(), question)


def test_notation_knows_no_addresses_of_ipv6() -> None:
    place = parse_reference("[::1]:5000/team/app:1")
    with pytest.raises(SignatureError, match='registry scope "\\[::1]:5000/team/app" is not valid'):
        verify(Repository(asked(), place, is_single=False), TARGET, TRUST)
