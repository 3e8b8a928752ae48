"""Classic signatures and attestations for attestors of ImageValidatingPolicies."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes

from chartkit.engine.ports.signatures import SignatureError
from chartkit.engine.ports.world import NOBODY_ELSE, Credentials
from chartkit.errors import LookupFailed
from chartkit.model import Body
from tests.addons.signatures.cosign_bench import IDENTITY, ISSUER, KIND, Bench
from tests.signing.authority import NOW, YEAR, authority, key_pem
from tests.signing.bundle import Instance
from tests.signing.cosign import Layer, Signer, push
from tests.signing.rekor import Log
from tests.signing.tsa import timestamp_server
from tests.unit.network.registry.registry_server import basic

IGNORED: Body = {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}
NAMED: Body = {"subject": IDENTITY, "issuer": ISSUER}


@pytest.fixture
def trusted(bench: Bench, tmp_path: Path) -> Iterator[Bench]:
    """The bench's own instance is trusted."""
    path = tmp_path / "trusted_root.json"
    path.write_text(_root(bench))
    bench.trusted_root = path
    yield bench
    bench.trusted_root = None


def _root(bench: Bench, **changes: Any) -> str:
    instance = Instance((bench.between,), (bench.log,), (bench.certificates,), (bench.clock,))
    return replace(instance, **changes).root


def _keyed(bench: Bench, **changes: Any) -> Body:
    return {"key": {"data": key_pem(bench.key)}, "ctlog": IGNORED, **changes}


def _keyless(*identities: Body, **changes: Any) -> Body:
    return {"keyless": {"identities": list(identities or (NAMED,))}, **changes}


def _said(bench: Bench, image: str, cosign: Body) -> str:
    """What is wrong with an image's signatures; empty where nothing is."""
    try:
        bench.source.signed(image, {"name": "a", "cosign": cosign}, NOBODY_ELSE)
    except SignatureError as error:
        return error.message
    return ""


_FAILED = "failed to verify cosign signatures: "
_OPTIONS = "failed to build cosign verification opts: "
_BAD_DER = "invalid signature when validating ASN.1 encoded signature"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, ""),
        ({"key": {"data": "no"}}, f"{_OPTIONS}failed to load public key from PEM: "),
        (
            {"key": {"data": "no", "hashAlgorithm": "md5"}},
            f"{_OPTIONS}failed to load public key from PEM: invalid hash function specified",
        ),
        ({"source": {"tagPrefix": "x-"}}, f"{_FAILED}no signatures found"),
        ({"source": {"repository": "UPPER case"}}, f"{_OPTIONS}failed to parse signature repos"),
        ({"ctlog": {**IGNORED, "tsaCertChain": "no"}}, f"{_OPTIONS}error splitting tsa "),
        (
            {"annotations": {"a": "b"}},
            "no signature matched the required annotations: [annotations mismatch:  does not match "
            "expected value b for key a]",
        ),
        ({"key": {}}, f"{_OPTIONS}cosign verifier needs to have one key, keyless or certificate "),
        ({"key": {"expression": ""}}, f"{_OPTIONS}one of verifier, root certs, or trusted root "),
    ],
)
def test_cosign_policies_keys(bench: Bench, changes: Body, wanted: str) -> None:
    image = bench.signed(Signer(bench.key).signature)
    message = _said(bench, image, _keyed(bench, **changes))
    assert message.startswith(wanted)
    assert bool(message) is bool(wanted)


def test_hashes_of_keys(bench: Bench) -> None:
    image = bench.signed(Signer(bench.key, algorithm=hashes.SHA384()).signature)
    data = {"data": key_pem(bench.key)}
    assert _said(bench, image, _keyed(bench, key={**data, "hashAlgorithm": "sha384"})) == ""
    plain = _said(bench, image, _keyed(bench))
    assert plain == f"{_FAILED}no matching signatures: {_BAD_DER}"


def test_keys_that_stand_elsewhere(bench: Bench) -> None:
    with pytest.raises(LookupFailed, match="failed to load public key from awskms:///x: "):
        _said(bench, "example.com/app", _keyed(bench, key={"kms": "awskms:///x"}))


def test_annotations_of_the_layer(bench: Bench) -> None:
    def make(digest: str) -> Layer:
        layer = Signer(bench.key).signature(digest)
        return replace(layer, annotations={**layer.annotations, "a": "b"})

    image = bench.signed(Signer(bench.key).signature, make)
    assert _said(bench, image, _keyed(bench, annotations={"a": "b"})) == ""


def test_signatures_elsewhere(bench: Bench) -> None:
    image, _, digest = bench.image()
    layer = Signer(bench.key).signature(digest)
    push(bench.registry, "team/kept", digest, [layer], prefix="x-")
    source = {"repository": f"{bench.registry.host}/team/kept", "tagPrefix": "x-"}
    assert _said(bench, image, _keyed(bench, source=source)) == ""


def test_images_that_are_not_there(bench: Bench) -> None:
    _, repository, _ = bench.image()
    gone = f"{bench.registry.host}/{repository}:gone"
    assert _said(bench, gone, _keyed(bench)).startswith(f"{_FAILED}image tag not found: ")


def test_cosign_policies_certificates(bench: Bench) -> None:
    image = bench.signed(Signer.of(bench.leaf).signature)
    own, above = {"value": bench.leaf.pem}, {"value": bench.leaf.chain_pem}
    root, stranger = {"value": bench.root.root_pem}, {"value": authority("s").root_pem}
    failed = f"{_OPTIONS}failed to load validate certificate chain: "
    logged: Body = {"insecureIgnoreTlog": True}
    for certificate, log, wanted in (
        ({"cert": own}, IGNORED, ""),
        ({"cert": own, "certChain": above}, IGNORED, ""),
        ({"certChain": root}, IGNORED, ""),
        ({"cert": own, "certChain": stranger}, IGNORED, f"{failed}cert verification failed: "),
        ({"cert": own, "certChain": above}, logged, f"{failed}none of the CTFE keys "),
        ({"certChain": {"value": "no"}}, IGNORED, f"{_OPTIONS}failed to load certificates: "),
        ({"cert": {"value": "no"}}, IGNORED, f"{_OPTIONS}failed to load certificate from no: "),
        ({"cert": {}}, IGNORED, f"{_OPTIONS}one of verifier, root certs, or trusted root "),
    ):
        message = _said(bench, image, {"certificate": certificate, "ctlog": log})
        assert message.startswith(wanted)
        assert bool(message) is bool(wanted)


_NOBODY = (
    f"{_FAILED}no matching signatures: none of the expected identities matched what was in the "
    f"certificate, got subjects [{IDENTITY}] with issuer {ISSUER}"
)


@pytest.mark.parametrize(
    ("identities", "wanted"),
    [
        ([NAMED], ""),
        ([{"subject": "you"}, {"subjectRegExp": "^me@", "issuerRegExp": "issuer"}], ""),
        ([{"issuer": ISSUER}], ""),
        ([{"subject": "*@example.com", "issuer": ISSUER}], _NOBODY),
        ([{**NAMED, "issuer": "https://other"}], _NOBODY),
        ([{**NAMED, "subjectRegExp": "^you"}], _NOBODY),
        ([{"subjectRegExp": "("}], f"{_FAILED}no matching signatures: malformed subject in "),
    ],
)
def test_cosign_policies_identities(trusted: Bench, identities: list[Body], wanted: str) -> None:
    image = trusted.signed(trusted.keyless.signature)
    message = _said(trusted, image, _keyless(*identities))
    assert message.startswith(wanted)
    assert bool(message) is bool(wanted)


_SHORT = {"start": NOW - YEAR, "lasts": timedelta(minutes=10)}
_INSIDE = NOW - YEAR + timedelta(minutes=5)
_NO_BUNDLE = f"{_FAILED}no matching signatures: error verifying bundle: "


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda b: Signer.of(b.issue(**_SHORT), b.log, _INSIDE), ""),
        (lambda b: Signer.of(b.issue()), f"{_FAILED}no matching signatures: offline verification"),
        (
            lambda b: Signer.of(b.issue(), Log()),
            f"{_NO_BUNDLE}verifying bundle with trusted root: rekor log public key not found ",
        ),
        (
            lambda b: Signer.of(b.issue(), b.log, NOW - 3 * YEAR),
            f"{_NO_BUNDLE}verifying bundle with trusted root: rekor log public key not valid at ",
        ),
        (
            lambda b: Signer.of(b.issue(log=None), b.log),
            f"{_FAILED}no matching signatures: certificate does not include required embedded SCT",
        ),
        (
            lambda b: Signer.of(b.issue(log=type(b.certificates)()), b.log),
            f"{_FAILED}no matching signatures: only able to verify 0 SCT entries; unable to meet ",
        ),
        (
            lambda b: Signer.of(authority("s").leaf(email=IDENTITY), b.log),
            f"{_FAILED}no matching signatures: leaf certificate verification failed",
        ),
    ],
)
def test_what_the_trusted_root_vouches_for(
    trusted: Bench, make: Callable[[Bench], Signer], wanted: str
) -> None:
    message = _said(trusted, trusted.signed(make(trusted).signature), _keyless())
    assert message.startswith(wanted)
    assert bool(message) is bool(wanted)


def test_clocks_of_the_trusted_root_and_of_the_policy(trusted: Bench) -> None:
    leaf = trusted.issue(**_SHORT)
    other = timestamp_server()
    for clock, chain, wanted in (
        (trusted.clock, other.chain_pem, ""),
        (other, other.chain_pem, ""),
        (timestamp_server(), other.chain_pem, "unable to verify RFC3161 timestamp bundle: "),
        (other, "", "expected a signed timestamp to verify an expired certificate"),
    ):
        signer = Signer(leaf.key, leaf=leaf, clock=clock, at=_INSIDE)
        log = {**IGNORED, "tsaCertChain": chain}
        message = _said(trusted, trusted.signed(signer.signature), _keyless(ctlog=log))
        assert wanted in message
        assert bool(message) is bool(wanted)


def test_a_log_that_would_be_asked(trusted: Bench) -> None:
    image = trusted.signed(Signer.of(trusted.leaf).signature)
    with pytest.raises(LookupFailed, match="the log itself is not asked"):
        _said(trusted, image, _keyless(ctlog={"url": "https://rekor.example"}))
    message = _said(trusted, image, _keyless(ctlog={"insecureIgnoreSCT": True}))
    assert message == f"{_OPTIONS}getting Rekor public keys:  rekor URL must be provided"


def test_the_trusted_root_of_a_policy(bench: Bench) -> None:
    image = bench.signed(bench.keyless.signature)
    own = {"value": _root(bench)}
    assert _said(bench, image, _keyless(trustedRoot=own)) == ""
    failed = f"{_OPTIONS}failed to resolve trusted material: "
    for value, wanted in (
        ("no", "parsing inline trustedRoot JSON: failed to proto-json unmarshal trusted root: "),
        ("x" * (1 << 20) + "x", "inline trustedRoot JSON is too large (1048577 bytes), maximum "),
    ):
        message = _said(bench, image, _keyless(trustedRoot={"value": value}))
        assert message.startswith(failed + wanted)


def test_without_a_trusted_root_it_is_the_public_instances(bench: Bench) -> None:
    image = bench.signed(bench.keyless.signature)
    assert _said(bench, image, _keyless()).startswith(f"{_NO_BUNDLE}verifying bundle with trusted")
    with pytest.raises(LookupFailed, match="the policy's own TUF repository is not fetched"):
        _said(bench, image, _keyless(tuf={"mirror": "https://tuf.example"}))


def test_a_trusted_root_stands_for_a_repository(trusted: Bench) -> None:
    image = trusted.signed(trusted.keyless.signature)
    assert _said(trusted, image, _keyless(tuf={"mirror": "https://tuf.example"})) == ""


def _statement(bench: Bench, image: str, cosign: Body, kind: str = KIND) -> Any:
    attestation = {"name": "t", "intoto": {"type": kind}}
    attestor = {"name": "a", "cosign": cosign}
    return bench.source.attested(image, attestation, attestor, NOBODY_ELSE)


def test_cosign_policies_attestations(trusted: Bench) -> None:
    image = trusted.attested(
        lambda digest: trusted.keyless.attestation(digest, KIND, {"n": 1}),
        lambda digest: trusted.keyless.attestation(digest, "https://x", {"n": 2}),
        lambda digest: trusted.keyless.attestation(digest, KIND, {"n": 3}),
    )
    found = _statement(trusted, image, _keyless())
    assert found["predicate"] == {"n": 3}
    assert found["predicateType"] == KIND
    with pytest.raises(SignatureError) as raised:
        _statement(trusted, image, _keyless(), "https://y")
    types = f"{KIND} https://x {KIND}"
    wanted = f"required predicate type https://y not found, found [{types}]"
    assert raised.value.message == wanted
    with pytest.raises(SignatureError, match="no attestation matched the required annotations"):
        _statement(trusted, image, _keyless(annotations={"a": "b"}))


def test_attestations_by_short_names_are_not_found_again(trusted: Bench) -> None:
    vuln = "https://cosign.sigstore.dev/attestation/vuln/v1"
    image = trusted.attested(lambda digest: trusted.keyless.attestation(digest, vuln, {}))
    assert _statement(trusted, image, _keyless(), "vuln") is None
    assert _statement(trusted, image, _keyless(), vuln)["predicateType"] == vuln


def test_attestations_that_do_not_verify(trusted: Bench) -> None:
    unlogged = trusted.attested(lambda d: Signer(trusted.key).attestation(d, KIND, {}))
    with pytest.raises(SignatureError, match="cosign bundle verification failed"):
        _statement(trusted, unlogged, _keyed(trusted))
    image, _, _ = trusted.image()
    with pytest.raises(SignatureError, match=f"^{_FAILED}no matching attestations: $"):
        _statement(trusted, image, _keyless())
    logged = trusted.attested(lambda d: trusted.keyless.attestation(d, KIND, {}))
    with pytest.raises(SignatureError, match="missing predicate type"):
        _statement(trusted, logged, _keyless(), "")


def test_an_attestor_has_credentials_of_its_own(bench: Bench) -> None:
    image = bench.signed(Signer(bench.key).signature)
    host = bench.registry.host
    auths = {"auths": {host: {"auth": basic("who", "it-is-a-secret").partition(" ")[2]}}}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pull", "namespace": "kyverno"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps(auths)},
    }
    source = bench.source
    source.registries.learn([secret])
    bench.registry.password = "it-is-a-secret"
    try:
        own = {"PullSecrets": [{"name": "pull"}]}
        attestor = {"cosign": _keyed(bench, source=own)}
        source.signed(image, attestor, NOBODY_ELSE)
        with pytest.raises(LookupFailed, match="UNAUTHORIZED"):
            source.signed(image, {"cosign": _keyed(bench)}, Credentials())
    finally:
        bench.registry.password = ""
