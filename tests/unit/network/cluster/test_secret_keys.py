"""Keys in Secrets of a cluster: read when a policy names them, and all that a recording holds."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.model import Body
from chartkit.network.cluster.cleaning import with_public_key
from tests.api_server import Request
from tests.objects import api_object
from tests.signing.authority import key_pem, new_key
from tests.signing.cosign import Signer, push
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import forbidden, policy
from tests.unit.network.registry.registry_server import Registry, serving

KEY, OTHER = new_key(), new_key()
PRIVATE, PASSWORD = "cHJpdmF0ZQ==", "aHVzaGh1c2g="
REFERENCE = "failed to load public key from k8s://kyverno/signer: "


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with serving() as made:
        digest = made.add_image("team/app", "1", {"of": "app"})
        push(made, "team/app", digest, [Signer(KEY).signature(digest)])
        yield made


def _secret(public: str) -> Body:
    data = {"cosign.key": PRIVATE, "cosign.password": PASSWORD}
    metadata = {"name": "signer", "namespace": "kyverno"}
    encoded = base64.b64encode(public.encode()).decode()
    return api_object("v1", "Secret", metadata, data={**data, "cosign.pub": encoded})


def _verifying(registry: Registry) -> Body:
    """A policy that also reads the Secret by a call, before and after it is asked as a key."""
    keys = {
        "secret": {"name": "signer", "namespace": "kyverno"},
        "rekor": {"url": "https://rekor.example", "ignoreTlog": True},
        "ctlog": {"ignoreSCT": True},
    }
    verify = {
        "imageReferences": [f"{registry.host}/*"],
        "attestors": [{"entries": [{"keys": keys}]}],
        "mutateDigest": False,
        "verifyDigest": False,
        "required": False,
    }
    call = {"name": "s", "apiCall": {"urlPath": "/api/v1/namespaces/kyverno/secrets/signer"}}
    condition = {"key": "{{ s.metadata.name }}", "operator": "Equals", "value": "signer"}
    deny = {"message": "seen", "deny": {"conditions": {"any": [condition]}}}
    body = policy("p", ["Pod"], {"verifyImages": [verify]})
    (rule,) = body["spec"]["rules"]
    asks = {"name": "asks", "match": rule["match"], "context": [call], "validate": deny}
    body["spec"]["rules"] = [asks, rule]
    body["spec"]["background"] = True
    return body


def _pod(registry: Registry) -> Body:
    spec = {"containers": [{"name": "c", "image": f"{registry.host}/team/app:1"}]}
    metadata = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _results(output: str) -> dict[str, tuple[str, str]]:
    results = json.loads(output)["results"]
    return {one["rule"]: (one["result"], one["message"]) for one in results if one["message"]}


def test_the_key_of_a_cluster_and_of_its_recording(
    world: World, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.server.add(_pod(registry), _secret(key_pem(KEY)))
    words = ("--registry", "-o", "json", *world.policies(_verifying(registry)))
    live = world.scan("--cluster", "--record", "rec", *words)
    assert _results(live[1])["rule"][0] == "pass"
    assert _results(live[1])["asks"] == ("fail", "seen")
    world.server.requests.clear()
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert world.scan("rec", *words) == live
    assert world.server.requests == []
    text = "".join(file.read_text() for file in Path("rec").iterdir())
    assert base64.b64encode(key_pem(KEY).encode()).decode() in text
    assert '"cosign.key": ""' in text
    for word in (PRIVATE, PASSWORD):
        assert word not in text + live[1] + live[2]


def test_a_recording_holds_no_secret_that_no_attestor_names(
    world: World, registry: Registry
) -> None:
    world.server.add(_pod(registry), _secret(key_pem(KEY)))
    body = _verifying(registry)
    body["spec"]["rules"].pop()
    world.scan("--cluster", "--record", "rec", *world.policies(body))
    text = "".join(file.read_text() for file in Path("rec").iterdir())
    assert '"cosign.pub": ""' in text


def test_another_key_and_none(world: World, registry: Registry) -> None:
    world.server.add(_pod(registry), _secret(key_pem(OTHER)))
    words = ("--registry", "-o", "json", *world.policies(_verifying(registry)))
    status, message = _results(world.scan("--cluster", *words)[1])["rule"]
    assert (status, "no matching signatures" in message) == ("fail", True)
    world.server.put("/api/v1/namespaces/kyverno/secrets/signer", None)
    status, message = _results(world.scan("--cluster", *words)[1])["rule"]
    missing = 'checking if secret exists: secrets "signer" not found'
    assert (status, message.endswith(REFERENCE + missing)) == ("fail", True)


def test_a_secret_that_may_not_be_read(world: World, registry: Registry) -> None:
    world.server.add(_pod(registry), _secret(key_pem(KEY)))

    def refuse(request: Request) -> None:
        if "/secrets/" in request.path:
            raise forbidden("secrets")

    world.server.before = refuse
    words = ("--registry", "-o", "json", *world.policies(_verifying(registry)))
    code, output, unread = world.scan("--cluster", *words)
    status, message = _results(output)["rule"]
    assert code == 1
    assert status == "error"
    assert f"{REFERENCE}the Secret kyverno/signer could not be read: secrets is forb" in message
    assert "not read: /api/v1/namespaces/kyverno/secrets/signer: forbidden (403)" in unread


@pytest.mark.parametrize(
    "public", ["", "-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----"]
)
def test_what_is_no_public_key_is_not_recorded(
    world: World, registry: Registry, public: str
) -> None:
    world.server.add(_pod(registry), _secret(public))
    words = ("--registry", "-o", "json", *world.policies(_verifying(registry)))
    live = world.scan("--cluster", "--record", "rec", *words)
    assert _results(live[1])["rule"][0] == "fail"
    status, message = _results(world.scan("rec", *words)[1])["rule"]
    assert status == "error"
    assert "is recorded without its public key (record it again)" in message


@pytest.mark.parametrize(
    "around",
    ["{}", "\n{}\n", "{}\nhush", "hush\n{}", "{}{}", "{}\n-----BEGIN PRIVATE KEY-----\nYQ==\n"],
)
def test_nothing_but_public_keys(around: str) -> None:
    kept = with_public_key(_secret(around.replace("{}", key_pem(KEY))))["data"]
    is_public = around.replace("{}", "").strip() == ""
    assert bool(kept["cosign.pub"]) == is_public
    assert kept["cosign.key"] == kept["cosign.password"] == ""


@pytest.mark.parametrize("data", [None, {}, {"cosign.pub": 1}, {"cosign.pub": "?"}, {"a": "eA=="}])
def test_secrets_of_other_shapes(data: Body | None) -> None:
    body = {"kind": "Secret", "data": data}
    kept = with_public_key(body)["data"]
    assert not kept or set(kept.values()) == {""}
