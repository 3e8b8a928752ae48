"""Where signatures of cosign's classic format lie, and payloads that say a thing twice."""

import base64
import json

import pytest

from chartkit.engine.ports.signatures import SignatureError
from chartkit.errors import LookupFailed
from chartkit.model import Body
from tests.addons.signatures.cosign_bench import KIND, Bench, said
from tests.signing.cosign import Layer, push
from tests.unit.network.registry.registry_server import INDEX, MANIFEST, digest_of


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
@pytest.mark.parametrize(
    ("platform", "found"),
    [
        (None, True),
        ({"os": "linux", "architecture": "amd64"}, True),
        ({"os": "linux", "architecture": "arm64"}, False),
    ],
)
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
        with pytest.raises(SignatureError) as raised:
            ask(asked)
        assert raised.value.message == wanted


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", ""),
        (', "critical": {"type": "cosign container image signature"}', ""),
        (', "CRITICAL": null, "critical": {"Image": {}}', ""),
        (', "optional": {"team": "a"}', ""),
        (', "optional": {"team": "b", "team": "a"}', ""),
        (', "critical": {"image": {"docker-manifest-digest": "sha256:0"}}', "no matching "),
        (', "critical": []', "no matching signatures: json: cannot unmarshal array "),
        (', "optional": null', "no signature matched the required annotations"),
        (', "optional": {"env": "dev"}', "no signature matched the required annotations"),
    ],
)
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


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (None, ""),
        ("its own", ""),
        ("its own, and more", ""),
        ("another", "no matching signatures: error verifying size; got 1, want "),
        ("as long", "no matching signatures: error verifying sha256 checksum after reading "),
        ("?", "no matching signatures: illegal base64 data at input byte 0"),
    ],
)
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
