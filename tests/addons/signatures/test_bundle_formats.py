"""Sigstore bundles and their statements as documents: what is read, and what is refused."""

import copy
import json
from collections.abc import Callable

import pytest

from chartkit.addons.signatures.bundles.protojson import Message, MessageError, load
from chartkit.addons.signatures.bundles.reader import read_bundle
from chartkit.addons.signatures.bundles.verifier import BundlePolicy, Clock
from chartkit.addons.signatures.trust.trusted_root import Trust
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body, Json
from tests.addons.signatures.bundle_world import ARTIFACT, DIGEST, TYPE, Change, World, check, known
from tests.errors import error_of
from tests.signing.bundle import KIND, OLD_KIND, text
from tests.signing.cosign import IN_TOTO, statement

HEX = DIGEST.partition(":")[2]
MATERIAL = "verificationMaterial"


def test_a_bundle_is_read(keyless: Body) -> None:
    found = read_bundle(json.dumps(keyless).encode())
    assert keyless["mediaType"] == KIND
    assert (found.version, len(found.entries), len(found.timestamps)) == ((0, 3, 0), 1, 1)
    assert found.envelope is not None
    assert found.signature == found.envelope.signatures[0][1]
    assert found.message is None


def test_names_and_bytes_in_any_spelling(world: World, keyless: Body) -> None:
    other = copy.deepcopy(keyless)
    other["media_type"] = other.pop("mediaType")
    other["verification_material"] = other.pop(MATERIAL)
    listed = other["verification_material"]["tlogEntries"][0]
    listed["log_index"] = int(listed.pop("logIndex"))
    listed["inclusionProof"]["treeSize"] = float(listed["inclusionProof"]["treeSize"])
    listed["kindVersion"]["kind"] = None
    payload = other["dsseEnvelope"]["payload"]
    other["dsseEnvelope"]["payload"] = payload.replace("+", "-").replace("/", "_").rstrip("=")
    other["messageSignature"] = None
    assert check(other, world.keyless_checks()) == statement(DIGEST, TYPE, {"a": 1})


def _root(**fields: Json) -> Change:
    return lambda bundle: bundle.update(fields)


def _material(**fields: Json) -> Change:
    return lambda bundle: bundle[MATERIAL].update(fields)


def _entry(**fields: Json) -> Change:
    return lambda bundle: bundle[MATERIAL]["tlogEntries"][0].update(fields)


def _without_certificate(**fields: Json) -> Change:
    def change(bundle: Body) -> None:
        del bundle[MATERIAL]["certificate"]
        bundle[MATERIAL].update(fields)

    return change


def _body(body: Json) -> Change:
    return _entry(canonicalizedBody=text(json.dumps(body).encode()))


def _many(bundle: Body) -> None:
    first = bundle[MATERIAL]["tlogEntries"][0]
    listed = [{**first, "logIndex": str(number)} for number in range(33)]
    bundle[MATERIAL]["tlogEntries"] = listed


UNKNOWN_KIND = "unsupported media type: "
UNREADABLE = "entry body is not a recognizable Rekor v1 or Rekor v2 type"
FORMATS: dict[str, tuple[Change, str]] = {
    "no format": (_root(mediaType=None), UNKNOWN_KIND),
    "another format": (_root(mediaType="text/plain"), f"{UNKNOWN_KIND}text/plain"),
    "a format to come": (
        _root(mediaType=KIND.replace("0.3", "0.4")),
        "bundle version v0.4 is not yet supported",
    ),
    "a format of one number": (
        _root(mediaType=KIND.replace("0.3", "9")),
        "bundle version v9 is not yet supported",
    ),
    "a format that never was": (
        _root(mediaType=KIND.replace("0.3", "0.0")),
        "bundle version v0.0 is not supported",
    ),
    "a number that is none": (_root(mediaType=KIND.replace("0.3", "0.03")), UNKNOWN_KIND),
    "an unknown field": (_root(more=1), 'unknown field "more" in the bundle'),
    "a field in both spellings": (_root(media_type=KIND), 'duplicate field "mediaType"'),
    "two contents": (
        _root(messageSignature={"signature": "AAAA"}),
        "more than one of dsseEnvelope, messageSignature",
    ),
    "no content": (_root(dsseEnvelope=None), "missing bundle content"),
    "no material": (_root(verificationMaterial=None), "missing verification material"),
    "no signer": (_material(certificate=None), "missing verification material"),
    "a key and a certificate": (_material(publicKey={"hint": "x"}), "more than one of "),
    "a chain in a new format": (
        _without_certificate(x509CertificateChain={"certificates": []}),
        "verification material cannot be X.509 certificate chain",
    ),
    "33 entries": (_many, "too many tlog entries: 33 > 32"),
    "no entry where one should be": (_material(tlogEntries=[None]), "expected an object"),
    "entries that are not a list": (_material(tlogEntries={}), "expected a list"),
    "no log": (_entry(logId=None), "nil value in transaction log entry"),
    "no kind": (_entry(kindVersion=None), "nil value in transaction log entry"),
    "no body": (_entry(canonicalizedBody=None), "nil value in transaction log entry"),
    "a negative index": (_entry(logIndex="-1"), "nil value in transaction log entry"),
    "no number": (_entry(logIndex="x"), "expected an int64"),
    "a number that is too large": (_entry(logIndex=str(2**63)), "expected an int64"),
    "true for a number": (_entry(logIndex=True), "expected an int64"),
    "no base64": (_entry(canonicalizedBody="****"), "expected base64"),
    "base64 of two alphabets": (_entry(canonicalizedBody="+-AA"), "expected base64"),
    "no proof in a new format": (_entry(inclusionProof=None), "inclusion proof missing in bundle"),
    "no promise in the first format": (
        lambda bundle: (
            bundle.update(mediaType=f"{OLD_KIND}1"),
            _entry(inclusionPromise=None)(bundle),
        ),
        "inclusion promises missing in bundle",
    ),
    "no checkpoint": (
        _entry(inclusionProof={"logIndex": "1"}),
        "inclusion proof missing required checkpoint",
    ),
    "an empty checkpoint": (
        _entry(inclusionProof={"checkpoint": {"envelope": ""}}),
        "inclusion proof checkpoint empty",
    ),
    "a body of text": (_entry(canonicalizedBody=text(b"garbage")), UNREADABLE),
    "a body that is a list": (_body([]), UNREADABLE),
    "a body of an unknown kind": (_body({"kind": "x", "apiVersion": "1", "spec": {}}), UNREADABLE),
    "a body without its parts": (
        _body({"kind": "dsse", "apiVersion": "0.0.1", "spec": {"signatures": []}}),
        UNREADABLE,
    ),
    "a body of Rekor 2 without its parts": (
        _body({"kind": "hashedrekord", "apiVersion": "0.0.2", "spec": {"x": 1}}),
        UNREADABLE,
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_bundles_that_are_none(keyless: Body, name: str) -> None:
    change, says = FORMATS[name]
    bundle = copy.deepcopy(keyless)
    change(bundle)
    error = error_of(SignatureError, read_bundle, json.dumps(bundle).encode())
    assert says in error.message
    assert "\n" not in error.message


def test_an_entry_of_a_digest_must_verify_itself(world: World) -> None:
    bundle = world.keyless.message(ARTIFACT)
    read_bundle(json.dumps(bundle).encode())
    listed = bundle[MATERIAL]["tlogEntries"][0]
    other = world.keyless.message(b"something else")[MATERIAL]["tlogEntries"][0]
    body, taken = (json.loads(_octets(one["canonicalizedBody"])) for one in (listed, other))
    body["spec"]["signature"]["content"] = taken["spec"]["signature"]["content"]
    listed["canonicalizedBody"] = text(json.dumps(body).encode())
    with pytest.raises(SignatureError, match=UNREADABLE):
        read_bundle(json.dumps(bundle).encode())


def _octets(value: str) -> bytes:
    return Message({"value": value}, "a value", ("value",)).octets("value")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"[" * 200_000,
        b'{"mediaType": NaN}',
        b'{"mediaType": 1e999}',
        b'{"mediaType": ' + b"9" * 10_000 + b"}",
        b'{"a": 1, "a": 2}',
        b'{"mediaType": "\xff"}',
        b"[]",
        b"null",
    ],
)
def test_bundle_formats_garbage(content: bytes) -> None:
    with pytest.raises(SignatureError, match=r"^proto: ") as raised:
        read_bundle(content)
    assert len(raised.value.message) < 300
    assert "\n" not in raised.value.message


def test_text_that_no_unicode_has() -> None:
    message = Message({"a": "\ud800"}, "a message", ("a",))
    with pytest.raises(MessageError, match="expected text"):
        message.text("a")


def _stated(**fields: Json) -> Json:
    return {**statement(DIGEST, TYPE, {}), **fields}


def _subjects(*digests: Json) -> Json:
    return _stated(subject=[{"digest": one} for one in digests])


NO_MATCH = "provided artifact digest does not match any digest in statement"
NO_DIGEST = "provided artifact digests does not match digests in statement"
STATEMENTS: dict[str, tuple[Json, str]] = {
    "another image": (_subjects({"sha256": "00"}), NO_MATCH),
    "no subject": (_stated(subject=None), NO_DIGEST),
    "a digest of another kind": (_subjects({"sha512": HEX}), NO_DIGEST),
    "a digest that is none": (
        _subjects({"sha256": HEX, "x": "zz"}),
        "unable to decode subject digest",
    ),
    "a digest with spaces": (
        _subjects({"sha256": f"{HEX[:2]} {HEX[2:]}"}),
        "unable to decode subject digest",
    ),
    "1,025 subjects": (_subjects(*[{"sha256": HEX}] * 1025), "too many subjects: 1025 > 1024"),
    "33 digests": (
        _subjects({**{str(number): "00" for number in range(32)}, "sha256": HEX}),
        "too many digests: 33 > 32",
    ),
    "an unknown field": (_stated(more=1), 'unknown field "more" in the statement'),
    "a predicate that is not an object": (_stated(predicate=[]), "predicate is not an object"),
    "a type that is not a string": (_stated(predicateType=1), "expected text"),
    "a subject that is none": (_stated(subject=[None]), "expected an object"),
    "a subject's name that is not a string": (_stated(subject=[{"name": 1}]), "expected text"),
    "digests that are not strings": (
        _subjects({"sha256": 1}),
        "digest is not an object of strings",
    ),
    "annotations that are not an object": (
        _stated(subject=[{"annotations": []}]),
        "annotations are not an object",
    ),
    "no object": ([], "expected an object"),
    "text": ("garbage", "expected an object"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_that_are_not_about_the_image(world: World, name: str) -> None:
    body, says = STATEMENTS[name]
    error = error_of(SignatureError, _check, world, json.dumps(body).encode())
    assert error.message.startswith("failed to verify signature: ")
    assert says in error.message


def _check(world: World, payload: bytes, payload_type: str = IN_TOTO) -> Json:
    checks = BundlePolicy(Trust(), Clock.NONE, known(world.key), logged=False)
    return check(world.bare.envelope(payload, payload_type), checks)


GOOD: dict[str, Callable[[], Json]] = {
    "the image among others": lambda: _subjects({"sha256": "00"}, {"sha512": "00", "sha256": HEX}),
    "1,024 subjects": lambda: _subjects(*[{"sha256": HEX}] * 1024),
    "capital letters": lambda: _subjects({"sha256": HEX.upper()}),
    "all that a subject may have": lambda: _stated(
        subject=[
            {
                "name": "n",
                "uri": "u",
                "digest": {"sha256": HEX},
                "content": "AAAA",
                "downloadLocation": "d",
                "mediaType": "m",
                "annotations": {"a": 1},
            }
        ]
    ),
    "no predicate": lambda: _stated(predicate=None),
}


@pytest.mark.parametrize("name", GOOD)
def test_statements_about_the_image(world: World, name: str) -> None:
    body = GOOD[name]()
    assert _check(world, json.dumps(body).encode()) == body


def test_payloads_that_are_no_statements(world: World) -> None:
    body = json.dumps(statement(DIGEST, TYPE, {})).encode()
    cases = {
        "unsupported DSSE payload type: text/plain": (body, "text/plain"),
        "syntax error": (b"garbage", IN_TOTO),
        'duplicate field "predicateType"': (body[:-1] + b', "predicateType": "x"}', IN_TOTO),
        "out of range": (body[:-3] + b'{"a": 1e999}}', IN_TOTO),
    }
    for says, (payload, payload_type) in cases.items():
        assert says in error_of(SignatureError, _check, world, payload, payload_type).message


@pytest.mark.parametrize("signatures", [0, 2])
def test_an_envelope_is_signed_once(world: World, signatures: int) -> None:
    bundle = world.bare.attest(DIGEST, TYPE, {})
    bundle["dsseEnvelope"]["signatures"] *= signatures
    checks = BundlePolicy(Trust(), Clock.NONE, known(world.key), logged=False)
    with pytest.raises(SignatureError, match="exactly one signature is required"):
        check(bundle, checks)


def test_what_is_nested_too_deeply() -> None:
    assert load('{"a": ' + "[" * 98 + "]" * 98 + "}")
    with pytest.raises(MessageError, match="nested more than 100 deep"):
        load('{"a": ' + "[" * 100 + "]" * 100 + "}")


def test_numbers_are_read_as_they_are() -> None:
    assert load('{"a": 1, "b": 1.5, "c": -0}') == {"a": 1, "b": 1.5, "c": 0}
