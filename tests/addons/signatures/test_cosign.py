"""Signatures of cosign's classic format, for ClusterPolicies, and where they lie."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519

from chartkit.addons.signatures.errors import UndecidedError
from chartkit.engine.ports.signatures import SignatureError
from chartkit.errors import LookupFailed
from chartkit.model import Body
from tests.addons.signatures.cosign_bench import KIND, Bench, Shape, said, with_time
from tests.data import from_table
from tests.errors import error_of
from tests.signing.authority import PrivateKey, key_pem, new_key, rsa_key
from tests.signing.cosign import BUNDLE, CERTIFICATE, SIGNATURE, Layer, Signer, push, push_referrer
from tests.signing.rekor import Log
from tests.unit.network.registry.registry_server import INDEX, MANIFEST, digest_of

_ED, _STRANGER = ed25519.Ed25519PrivateKey.generate(), new_key()
_SHA512 = hashes.SHA512()
_BAD_DER = "invalid signature when validating ASN.1 encoded signature"


@pytest.mark.parametrize(
    ("key", "changes", "algorithm", "wanted"),
    [
        (_STRANGER, {}, None, ""),
        (_ED, {}, None, ""),
        (rsa_key(), {}, None, ""),
        (_STRANGER, {"algorithm": "sha224"}, hashes.SHA224(), ""),
        (_STRANGER, {"algorithm": "sha384"}, hashes.SHA384(), ""),
        (rsa_key(), {"algorithm": "sha512"}, _SHA512, ""),
        (_STRANGER, {"algorithm": "sha512"}, None, f"no matching signatures: {_BAD_DER}"),
        (_STRANGER, {"algorithm": "md5"}, None, "invalid signature algorithm provided md5"),
        (
            rsa_key(),
            {"algorithm": "sha224"},
            hashes.SHA224(),
            "failed to load public key from PEM: invalid hash function specified",
        ),
        (_STRANGER, {"key": key_pem(new_key())}, None, f"no matching signatures: {_BAD_DER}"),
        (
            _STRANGER,
            {"key": key_pem(_ED)},
            None,
            "no matching signatures: failed to verify signature",
        ),
        (
            _STRANGER,
            {"key": "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"},
            None,
            "failed to load public key from PEM: pem to public key: x509: failed to parse public "
            "key",
        ),
    ],
)
def test_keys_and_their_hashes(
    bench: Bench,
    key: PrivateKey,
    changes: dict[str, Any],
    algorithm: hashes.HashAlgorithm | None,
    wanted: str,
) -> None:
    signer = Signer(key, algorithm or hashes.SHA256())
    image = bench.signed(signer.signature)
    given = {"key": key_pem(key), "ignores_log": True, **changes}
    assert said(bench, bench.by_key(image, **given)) == wanted


def test_entries_are_read_as_go_reads_them(bench: Bench) -> None:
    def make(digest: str) -> Layer:
        layer = bench.signer.signature(digest)
        body = json.loads(layer.annotations[BUNDLE])
        shuffled = {"signedentrytimestamp": body["SignedEntryTimestamp"], "PAYLOAD": None}
        return layer.having(bundle=json.dumps({**shuffled, "payload": body["Payload"]}))

    assert said(bench, bench.by_key(bench.signed(make))) == ""


def test_what_a_key_signed_and_a_log_took(bench: Bench) -> None:
    image, repository, digest = bench.image()
    push(bench.registry, repository, digest, [bench.signer.signature(digest)])
    assert bench.source.signature(bench.by_key(image)).digest == digest
    by_digest = f"{bench.registry.host}/{repository}@{digest}"
    assert bench.source.signature(bench.by_key(by_digest)).digest == digest


def test_one_of_several_signatures_is_enough(bench: Bench) -> None:
    stranger = Signer(bench.other, log=bench.log)
    image = bench.signed(stranger.signature, bench.signer.signature)
    assert said(bench, bench.by_key(image)) == ""


def test_all_that_is_wrong_issaid(bench: Bench) -> None:
    stranger = Signer(bench.other)
    image = bench.signed(stranger.signature, stranger.signature)
    question = bench.by_key(image, ignores_log=True)
    assert said(bench, question) == f"no matching signatures: {_BAD_DER}\n {_BAD_DER}"


_ROGUE = Log()
_SAID_OF_ENTRY: list[tuple[Shape, str]] = [
    (
        lambda b: lambda d: b.signer.signature(d).having(bundle="no"),
        "unmarshaling bundle: invalid character 'o' in literal null (expecting 'u')",
    ),
    (
        lambda b: lambda d: b.signer.signature(d).having(bundle="[]"),
        "json: cannot unmarshal array into Go value of type bundle.RekorBundle",
    ),
    (
        lambda b: lambda d: b.signer.signature(d).having(bundle='{"Payload": {"logIndex": "1"}}'),
        "unmarshaling bundle: integratedTime and logIndex are numbers",
    ),
    (
        lambda b: lambda d: b.signer.signature(d).having(bundle="{}"),
        "error verifying bundle: bundle payload body is not a string",
    ),
    (
        lambda b: lambda d: b.signer.signature(d).having(bundle='{"Payload": {"body": "e30="}}'),
        "error verifying bundle: failed to extract signature from bundle: could not unmarshal "
        "entry for kind 'None'",
    ),
    (
        lambda b: (
            lambda d: b.signer.signature(d).having(
                bundle=b.signer.signature("sha256:0").annotations[BUNDLE]
            )
        ),
        "error verifying bundle: signature in bundle does not match signature being verified",
    ),
    (
        lambda b: lambda d: with_time(b.signer.signature(d), 1),
        "error verifying bundle: unable to verify SET",
    ),
    (
        lambda b: Signer(b.key, log=_ROGUE).signature,
        "error verifying bundle: verifying bundle: rekor log public key not found for payload",
    ),
    (
        lambda b: Signer(_ED, log=b.log).signature,
        "error verifying bundle: failed to extract signature from bundle: verifying signature: "
        'unsupported hash algorithm: "SHA-256" not in [SHA-512]',
    ),
    (
        lambda b: b.keyless.signature,
        "error verifying bundle: both public key and certificate were provided but did not match",
    ),
    (lambda b: lambda d: b.signer.signature(d).without(SIGNATURE), 'is missing "dev.cosign'),
    (
        lambda b: lambda _: b.signer.signature(f"sha256:{'2' * 64}"),
        f"invalid or missing digest in claim: sha256:{'2' * 64}",
    ),
]


@pytest.mark.parametrize(("shape", "wanted"), _SAID_OF_ENTRY)
def test_what_comes_with_a_signature_must_be_its_own(
    bench: Bench, shape: Shape, wanted: str
) -> None:
    image = bench.signed(shape(bench))
    message = said(bench, bench.by_key(image))
    assert message.startswith("no matching signatures: ")
    assert wanted in message


def test_the_key_of_an_entry_is_compared(bench: Bench) -> None:
    image = bench.signed(bench.signer.signature)
    other = key_pem(bench.other)
    assert said(bench, bench.by_key(image, key=other)) == (
        "no matching signatures: error verifying bundle: comparing public key PEMs, expected "
        f"{other}, got {key_pem(bench.key)}"
    )


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"{}", "invalid or missing digest in claim: "),
        (b"text", "invalid character 'e' in literal true (expecting 'r')"),
        (b"[]", "cannot unmarshal array into Go value of type payload.SimpleContainerImage"),
        (
            b'{"critical": []}',
            "json: cannot unmarshal array into Go struct field SimpleContainerImage.critical of "
            "type payload.Critical",
        ),
        (
            b'{"critical": {"image": {"docker-manifest-digest": 1}}}',
            "number into Go struct field Image.critical.image.docker-manifest-digest of type "
            "string",
        ),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "JSON is nested more than 200 deep"),
        (b"[" * 100_000, "invalid JSON"),
        (b'{"optional": NaN}', "invalid character 'N' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        ("{}".encode("utf-16"), " looking for beginning of value"),
        (b'{"optional": {"a": "\xff"}}', "invalid or missing digest in claim: "),
        (
            b'{"critical": {"type": 1}}',
            "number into Go struct field Critical.critical.type of type string",
        ),
        (
            b'{"critical": {"identity": {"docker-reference": 1}}}',
            "into Go struct field Identity.critical.identity.docker-reference of type string",
        ),
    ],
)
def test_payloads_that_claim_no_image(bench: Bench, content: bytes, wanted: str) -> None:
    image = bench.signed(lambda _: Signer(bench.key).signed(content))
    message = said(bench, bench.by_key(image, ignores_log=True))
    assert message.startswith("no matching signatures: ")
    assert message.endswith(wanted)


def test_images_without_signatures(bench: Bench) -> None:
    image, repository, _ = bench.image()
    assert said(bench, bench.by_key(image)) == "no signatures found"
    gone = f"{bench.registry.host}/{repository}:gone"
    message = said(bench, bench.by_key(gone))
    assert message.startswith("image tag not found: GET http://")
    assert message.endswith("MANIFEST_UNKNOWN: manifest unknown")
    by_digest = f"{bench.registry.host}/{repository}@sha256:{'0' * 64}"
    assert said(bench, bench.by_key(by_digest)) == "no signatures found"
    assert said(bench, bench.by_key("UPPER case")) == "failed to parse image UPPER case"


def test_the_log_is_not_asked(bench: Bench) -> None:
    image = bench.signed(Signer(bench.key).signature)
    error = error_of(LookupFailed, bench.source.signature, bench.by_key(image))
    assert not isinstance(error, SignatureError)
    assert error.message == (
        "no matching signatures: the signature has no entry of the transparency log with it, and "
        "the log itself is not asked"
    )
    stranger = bench.by_key(image, key=key_pem(bench.other))
    assert said(bench, stranger) == f"no matching signatures: {_BAD_DER}"


def test_what_the_log_would_say_may_decide(bench: Bench) -> None:
    image = bench.signed(bench.signer.signature, Signer(bench.key).signature)
    assert said(bench, bench.by_key(image)) == ""
    with pytest.raises(LookupFailed, match="the log itself is not asked"):
        bench.source.signature(bench.by_key(image, annotations={"team": "x"}))


@pytest.mark.parametrize("key", ["awskms:///alias/x", " k8s://ns/name", "/key.pub", "key"])
def test_keys_that_stand_elsewhere_are_not_read(bench: Bench, key: str) -> None:
    with pytest.raises(LookupFailed, match="failed to load public key from ") as raised:
        bench.source.signature(bench.by_key("example.com/app", key=key))
    assert not isinstance(raised.value, SignatureError)
    assert raised.value.hint == "give the public key itself, in PEM"


def test_annotations_of_the_signature(bench: Bench) -> None:
    image = bench.signed(lambda digest: bench.signer.signature(digest, {"a": "1", "b": "2"}))
    assert said(bench, bench.by_key(image, annotations={"a": "1"})) == ""
    for wanted in ({"a": "2"}, {"c": ""}):
        message = said(bench, bench.by_key(image, annotations=wanted))
        assert message == "no signature matched the required annotations"


def test_signatures_in_another_repository(bench: Bench) -> None:
    image, _, digest = bench.image()
    push(bench.registry, "team/signatures", digest, [bench.signer.signature(digest)])
    host = bench.registry.host
    for repository, wanted in (
        (f"{host}/team/signatures", ""),
        (f"{host}/team/none", "no signatures found"),
        ("UPPER case", "failed to parse signature repository UPPER case: "),
    ):
        message = said(bench, bench.by_key(image, repository=repository))
        assert message.startswith(wanted)
        assert bool(message) is bool(wanted)


@pytest.mark.parametrize("lists", [True, False])
def test_signatures_that_refer_to_an_image(bench: Bench, lists: bool) -> None:
    bench.registry.has_referrers = lists
    try:
        image, repository, digest = bench.image()
        push_referrer(bench.registry, repository, digest, [bench.signer.signature(digest)])
        assert said(bench, bench.by_key(image, oci11=True)) == ""
        assert said(bench, bench.by_key(image)) == "no signatures found"
        tagged = bench.signed(bench.signer.signature)
        assert said(bench, bench.by_key(tagged, oci11=True)) == ""
    finally:
        bench.registry.has_referrers = True


def test_many_certificates_with_a_signature(bench: Bench) -> None:
    def long(digest: str) -> Layer:
        made = bench.keyless.signature(digest)
        return made.having(chain=made.annotations[CERTIFICATE] * 13)

    question = bench.by_identity(bench.signed(long))
    with pytest.raises(UndecidedError, match="more than 12 certificates come with a signature"):
        bench.source.signature(question)


def test_a_registry_that_nobody_reaches_is_no_verdict(bench: Bench) -> None:
    error = error_of(LookupFailed, bench.source.signature, bench.by_key("127.0.0.1:1/team/app:1"))
    assert not isinstance(error, SignatureError)


def test_indexes_are_signed_as_a_whole(bench: Bench) -> None:
    _, repository, child = bench.image()
    registry = bench.registry
    listed = {**registry.descriptor(repository, child), "platform": {"os": "linux"}}
    body = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [listed]}
    digest = registry.add(repository, "many", INDEX, body)
    push(registry, repository, digest, [bench.signer.signature(digest)])
    place = f"{registry.host}/{repository}"
    assert said(bench, bench.by_key(f"{place}:many")) == ""
    assert said(bench, bench.by_key(f"{place}:many@{digest}")) == ""
    assert said(bench, bench.by_key(f"{place}@{child}")) == "no signatures found"


def test_manifests_of_signatures_that_are_hostile(bench: Bench) -> None:
    layer = bench.signer.signature("sha256:0")
    described = {"mediaType": layer.media_type, "digest": f"sha256:{'1' * 64}"}
    for layers, wanted in (
        (5, "the manifest of signatures contains no layers"),
        ([5], "the manifest of signatures contains no layers"),
        ([described] * 1001, "number of layers (1001) exceeded the limit (1000)"),
        ([described], "no matching signatures: a layer of the manifest of signatures has no size"),
        (
            [{**described, "size": 129 << 20}],
            "no matching signatures: size of layer (135266304) exceeded the limit (134217728)",
        ),
        ([{**described, "size": 1}], "no matching signatures: GET http://"),
        (
            [{"size": 1}],
            "no matching signatures: a layer of the manifest of signatures has no digest",
        ),
        (None, "no signatures found"),
    ):
        image, repository, digest = bench.image()
        tag = f"{digest.replace(':', '-')}.sig"
        body = {"schemaVersion": 2, "mediaType": MANIFEST, "layers": layers}
        bench.registry.add(repository, tag, MANIFEST, body)
        assert said(bench, bench.by_key(image)).startswith(wanted)


def test_too_much_of_signatures_is_no_verdict(bench: Bench) -> None:
    image, repository, digest = bench.image()
    described = {"digest": f"sha256:{'1' * 64}", "size": 100 << 20}
    body = {"schemaVersion": 2, "mediaType": MANIFEST, "layers": [described] * 3}
    bench.registry.add(repository, f"{digest.replace(':', '-')}.sig", MANIFEST, body)
    with pytest.raises(LookupFailed, match="more than 268,435,456 bytes") as raised:
        bench.source.signature(bench.by_key(image))
    assert not isinstance(raised.value, SignatureError)


@pytest.mark.parametrize("suffix", ["sig", "att"])
@from_table("platform", "found")
def test_signatures_in_an_index(
    bench: Bench, suffix: str, platform: dict[str, str] | None, found: bool
) -> None:
    image, repository, digest = bench.image()
    signer = bench.signer
    layer = signer.signature(digest) if suffix == "sig" else signer.attestation(digest, KIND, {})
    push(bench.registry, repository, digest, [layer], suffix)
    tag = f"{digest.replace(':', '-')}.{suffix}"
    _, content = bench.registry.documents[f"/v2/{repository}/manifests/{tag}"]
    listed: Body = {"mediaType": MANIFEST, "digest": digest_of(content), "size": len(content)}
    if platform is not None:
        listed["platform"] = platform
    body = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [listed]}
    bench.registry.add(repository, tag, INDEX, body)
    asked = bench.by_key(image, type=KIND if suffix == "att" else "")
    wanted = f"no child with platform linux/amd64 in index {bench.registry.host}/{repository}:{tag}"
    ask = bench.source.signature if suffix == "sig" else bench.source.attestations
    if found:
        ask(asked)
    else:
        assert error_of(SignatureError, ask, asked).message == wanted


@from_table("more", "wanted")
def test_members_that_stand_twice_are_one(bench: Bench, more: str, wanted: str) -> None:
    def made(digest: str) -> Layer:
        image = f'{{"image": {{"docker-manifest-digest": "{digest}"}}}}'
        return bench.signer.signed(
            f'{{"critical": {image}, "optional": {{"env": "prod"}}{more}}}'.encode()
        )

    question = bench.by_key(bench.signed(made), annotations={"env": "prod"})
    found = said(bench, question)
    assert found.startswith(wanted)
    assert bool(found) == bool(wanted)


@from_table("data", "wanted")
def test_what_a_descriptor_holds_comes_before_the_blob(
    bench: Bench, data: str | None, wanted: str
) -> None:
    image, repository, digest = bench.image()
    layer = bench.signer.signature(digest)
    content = layer.content
    held = {
        "its own": content,
        "its own, and more": content + b"x",
        "another": b"x",
        "as long": b"x" * len(content),
    }.get(data or "")
    push(bench.registry, repository, digest, [layer])
    path = f"/v2/{repository}/manifests/{digest.replace(':', '-')}.sig"
    kind, text = bench.registry.documents[path]
    body = json.loads(text)
    body["layers"][0]["data"] = base64.b64encode(held).decode() if held else data
    bench.registry.documents[path] = (kind, json.dumps(body).encode())
    found = said(bench, bench.by_key(image))
    assert found.startswith(wanted)
    assert bool(found) == bool(wanted)


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        (b"payload", "invalid character 'p' looking for beginning of value"),
        (b'{"critical": {}', "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b" " * 70_000, "invalid JSON"),
        (b"[" * 20_000, "exceeded max depth"),
    ],
)
def test_payloads_that_are_no_json(bench: Bench, payload: bytes, wanted: str) -> None:
    image = bench.signed(lambda _: bench.signer.signed(payload))
    assert said(bench, bench.by_key(image)) == f"no matching signatures: {wanted}"
