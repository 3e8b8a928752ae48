"""Sigstore bundles beside images, for attestors of ImageValidatingPolicies."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.addons.signatures.bundles import find_bundles, verify_bundles, verify_cluster_policy
from chartkit.addons.signatures.cosign.checks import CheckOptions
from chartkit.addons.signatures.image_policies import read_attestor
from chartkit.addons.signatures.trust.certificates import Identity
from chartkit.addons.signatures.trust.keys import KeyVerifier
from chartkit.addons.signatures.trust.timestamps import read_authority
from chartkit.addons.signatures.trust.trusted_root import TrustedRoots
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts, parse_repository
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Settings
from tests.addons.signatures.bundle_world import (
    BY,
    DIGEST,
    IDENTITY,
    TYPE,
    WHO,
    Make,
    World,
    push_image,
)
from tests.data import from_table
from tests.errors import error_of
from tests.signing.authority import key_pem
from tests.signing.bundle import KIND, OLD_KIND, Maker
from tests.signing.cosign import Signer, statement
from tests.signing.tsa import timestamp_server
from tests.unit.network.registry.registry_server import Registry


@pytest.fixture
def artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artifacts:
    """Asked with nobody's credentials."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return Registries(Settings()).artifacts(NOBODY_ELSE)


def _question(registry: Registry, name: str) -> VerificationRequest:
    """The same of a ClusterPolicy."""
    image = f"{registry.host}/app:{name}"
    return VerificationRequest(image, kind="SigstoreBundle", subject=WHO, issuer=BY)


def _attesting(maker: Maker) -> Make:
    return lambda digest: maker.attest(digest, TYPE, {})


def test_bundles_for_image_validating_policies(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    digest = push_image(
        registry,
        "mixed",
        lambda one: world.keyless.attest(one, TYPE, {"n": 1}),
        lambda _: b"garbage",
        lambda one: {**world.keyless.attest(one, TYPE, {}), "mediaType": f"{OLD_KIND}2"},
        lambda one: world.keyed.attest(one, TYPE, {"n": 2}),
    )
    registry.add_artifact("app", digest, KIND, [registry.add_blob("app", b"{}", "text/plain")])
    found_digest, found = find_bundles(artifacts, f"{registry.host}/app:mixed")
    assert (found_digest, len(found)) == (digest, 2)
    by_identity = CheckOptions(trust=world.trust, identities=[IDENTITY])
    by_key = CheckOptions(verifier=KeyVerifier(world.key.public_key()), trust=world.trust)
    for wanted, number in ((by_identity, 1), (by_key, 2)):
        (envelope,) = verify_bundles(found, digest, wanted)
        assert json.loads(envelope.payload) == statement(digest, TYPE, {"n": number})
    assert error_of(SignatureError, verify_bundles, found, DIGEST, by_identity).message == (
        "no matching attestations: failed to verify signature: provided artifact digest does not "
        "match any digest in statement\n"
        "failed to verify log inclusion: transparency log certificate does not match"
    )


def test_bundles_in_another_repository(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    digest = push_image(registry, "apart", _attesting(world.bare), repository="signatures")
    image = f"{registry.host}/app:apart"
    assert find_bundles(artifacts, image) == (digest, [])
    place = parse_repository(f"{registry.host}/signatures")
    assert len(find_bundles(artifacts, image, place)[1]) == 1
    assert find_bundles(artifacts, f"{registry.host}/app:missing") == ("", ())
    with pytest.raises(SignatureError, match="no valid bundles exist in registry"):
        verify_bundles([], digest, CheckOptions(trust=world.trust, identities=[IDENTITY]))


def test_what_attestors_want_of_bundles(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    """As cosign's options lead to those of sigstore-go."""
    unstamped = replace(world.keyless, clocks=[])
    new = Maker(Signer.of(world.leaf, world.new), [world.clock], is_new=True)
    other = timestamp_server()
    clocks = replace(world.keyless, clocks=[other])
    makers = {"plain": unstamped, "stamped": world.keyless, "new": new, "clocks": clocks}
    found = {}
    for name, maker in makers.items():
        digest = push_image(registry, f"w-{name}", _attesting(maker))
        found[name] = (digest, find_bundles(artifacts, f"{registry.host}/app:w-{name}")[1])
    keyless = CheckOptions(trust=world.trust, identities=[IDENTITY])
    unlogged = replace(keyless, ignores_log=True)
    stamped = replace(keyless, clock=read_authority(other.chain_pem))
    both = replace(stamped, ignores_log=True)
    refused = [("plain", unlogged), ("plain", stamped), ("plain", both), ("clocks", unlogged)]
    for name, (digest, bundles) in found.items():
        for wanted in (keyless, unlogged, stamped, both):
            if (name, wanted) not in refused:
                assert verify_bundles(bundles, digest, wanted)
                continue
            with pytest.raises(SignatureError, match="verified signed timestamps: 0 < 1"):
                verify_bundles(bundles, digest, wanted)


def test_attestors_that_want_nothing_or_too_much(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    digest = push_image(registry, "wants", lambda one: world.keyless.attest(one, TYPE, {}))
    _, found = find_bundles(artifacts, f"{registry.host}/app:wants")
    several = "unsupported: multiple identities are not supported at this time"
    cases = {
        several: CheckOptions(trust=world.trust, identities=[IDENTITY, IDENTITY]),
        "when verifying a certificate identity, must specify Issuer criteria": CheckOptions(
            trust=world.trust, identities=[Identity(WHO)]
        ),
        "failed to build policy: can't verify identities without providing at least one identity": (
            CheckOptions(trust=world.trust)
        ),
        "a trusted root is required for identity-based verification": CheckOptions(
            clock=read_authority(world.clock.chain_pem)
        ),
    }
    for says, wanted in cases.items():
        error = error_of(SignatureError, verify_bundles, found, digest, wanted)
        assert error.message == f"no matching attestations: {says}"
    clocks = read_authority(world.clock.chain_pem)
    with pytest.raises(LookupFailed, match="a tsaCertChain goes with no key"):
        verify_bundles(
            found, digest, CheckOptions(verifier=KeyVerifier(world.key.public_key()), clock=clocks)
        )
    unseen = push_image(registry, "unseen", lambda one: world.bare.attest(one, TYPE, {}))
    _, bare = find_bundles(artifacts, f"{registry.host}/app:unseen")
    wanted = CheckOptions(
        verifier=KeyVerifier(world.key.public_key()), ignores_log=True, clock=clocks
    )
    with pytest.raises(SignatureError, match="verified signed timestamps: 0 < 1"):
        verify_bundles(bare, unseen, wanted)


def test_a_bare_signature_is_no_attestation(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    def message(digest: str) -> Body:
        content = registry.documents[f"/v2/app/manifests/{digest}"][1]
        return world.keyless.message(content)

    digest = push_image(registry, "bare", message)
    _, found = find_bundles(artifacts, f"{registry.host}/app:bare")
    with pytest.raises(SignatureError, match="bundle does not contain a DSSE envelope"):
        verify_bundles(found, digest, CheckOptions(trust=world.trust, identities=[IDENTITY]))
    question = _question(registry, "bare")
    assert verify_cluster_policy(artifacts, question, lambda: world.trust).digest == digest


def test_a_digest_in_capital_letters(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    """sigstore-go compares bytes, and cosign then text."""

    def shouting(digest: str) -> Body:
        body = statement(digest, TYPE, {})
        body["subject"][0]["digest"]["sha256"] = digest.partition(":")[2].upper()
        return world.keyless.envelope(json.dumps(body).encode())

    digest = push_image(registry, "capital", shouting)
    _, found = find_bundles(artifacts, f"{registry.host}/app:capital")
    with pytest.raises(SignatureError, match="no matching subject digest found"):
        verify_bundles(found, digest, CheckOptions(trust=world.trust, identities=[IDENTITY]))
    question = _question(registry, "capital")
    assert verify_cluster_policy(artifacts, question, lambda: world.trust).digest == digest


def test_bundles_of_too_many_bytes(
    registry: Registry, world: World, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_image(registry, "large", *[_attesting(world.keyless)] * 2)
    image = f"{registry.host}/app:large"
    assert len(find_bundles(artifacts, image)[1]) == 2
    monkeypatch.setattr("chartkit.addons.signatures.bundles._ALL", 10_000)
    assert len(find_bundles(artifacts, image)[1]) == 1
    with pytest.raises(LookupFailed, match="the bundles of the image are larger than 10,000 bytes"):
        verify_cluster_policy(artifacts, _question(registry, "large"), lambda: world.trust)


@from_table("without", "says")
def test_a_trusted_root_has_all_its_parts(world: World, without: Body, says: str) -> None:
    keyless = {"keyless": {"identities": [{"issuer": BY, "subject": WHO}]}}
    key = {"key": {"data": key_pem(world.key)}}
    own = {**keyless, "trustedRoot": {"value": world.instance.root}}
    ignored = {**keyless, "ctlog": {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}}
    given = TrustedRoots(replace(world.trust, **without))
    for attestor in (keyless, key, own, ignored):
        read_attestor(attestor, TrustedRoots(world.trust))
        error = error_of(SignatureError, read_attestor, attestor, given)
        assert error.message == f"failed to build cosign verification opts: {says}"
    read_attestor({**key, "ctlog": {"insecureIgnoreTlog": True}}, given)
