"""Signed images in a private registry, through the command: who may verify them."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from chartkit.addons.signatures.source import Signatures
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, Settings
from tests.e2e.command import called
from tests.hasty import hasty
from tests.objects import api_object
from tests.signing.authority import key_pem, new_key
from tests.signing.cosign import Signer, push
from tests.unit.network.registry.conftest import CONFIG
from tests.unit.network.registry.registry_server import Fault, Handler, Registry, basic, cut, slow

PASSWORD = "battery staple"
_SIGNED = {"rekor": {"ignoreTlog": True}, "ctlog": {"ignoreSCT": True}}


@pytest.fixture
def key(registry: Registry) -> str:
    """The public key of who signed the image; the registry is private from here on."""
    private = new_key()
    digest = registry.add_image("team/signed", "1", CONFIG)
    push(registry, "team/signed", digest, [Signer(private).signature(digest)], "sig")
    registry.password = PASSWORD
    return key_pem(private)


def _pod(registry: Registry, *pull_secrets: str) -> Body:
    container = {"name": "c", "image": f"{registry.host}/team/signed:1"}
    spec = {"containers": [container], "imagePullSecrets": [{"name": one} for one in pull_secrets]}
    meta = {"name": "a", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _secret(registry: Registry, namespace: str, password: str = PASSWORD) -> Body:
    login = {"auth": base64.b64encode(f"who:{password}".encode()).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pull", "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": {registry.host: login}})},
    }


def _cluster_policy(key: str, **fields: Any) -> Body:
    verify = {
        "imageReferences": ["*"],
        "mutateDigest": False,
        "verifyDigest": False,
        "required": False,
        "attestors": [{"entries": [{"keys": {"publicKeys": key, **_SIGNED}}]}],
        **fields,
    }
    matched = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    rule = {"name": "r", "match": matched, "verifyImages": [verify]}
    return api_object(
        "kyverno.io/v1", "ClusterPolicy", "p", spec={"background": False, "rules": [rule]}
    )


def _image_policy(key: str, **fields: Any) -> Body:
    cosign = {"key": {"data": key}, "ctlog": {"insecureIgnoreTlog": True}}
    verified = "images.containers.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ImageValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
            "matchImageReferences": [{"glob": "*"}],
            "validationConfigurations": {
                "mutateDigest": False,
                "verifyDigest": False,
                "required": False,
            },
            "attestors": [{"name": "ci", "cosign": cosign}],
            "validations": [{"expression": verified, "message": "not signed"}],
            **fields,
        },
    }


def _scan(folder: Path, policy: Body, *objects: Body) -> tuple[str, str]:
    """The one result of the policy for the pod; that nothing of the password is shown."""
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    (folder / "objects.yaml").write_text(yaml.safe_dump_all(objects))
    options = ("--registry", "--detailed", "-o", "json")
    done = called(folder, "scan", "-p", "policy.yaml", "objects.yaml", *options)
    for secret in ("battery", basic("who", PASSWORD).partition(" ")[2]):
        assert secret not in done.out + done.err
    (result,) = json.loads(done.out)["results"]
    return result["result"], result["message"]


def test_a_cluster_policys_secret(registry: Registry, key: str, tmp_path: Path) -> None:
    named = _cluster_policy(key, imageRegistryCredentials={"secrets": ["pull"]})
    pod, secret = _pod(registry), _secret(registry, "kyverno")
    assert _scan(tmp_path, named, pod, secret)[0] == "pass"
    for policy, objects in (
        (named, (pod,)),
        (named, (pod, _secret(registry, "shop"))),
        (named, (pod, _secret(registry, "kyverno", "wrong horse"))),
        (_cluster_policy(key), (pod, secret)),
    ):
        status, message = _scan(tmp_path, policy, *objects)
        assert status == "fail"
        assert "UNAUTHORIZED: not you:" in message


def test_the_pods_own_secrets_come_behind(registry: Registry, key: str, tmp_path: Path) -> None:
    pod, own = _pod(registry, "pull"), _secret(registry, "shop")
    assert _scan(tmp_path, _cluster_policy(key), pod, own)[0] == "pass"
    named = _cluster_policy(key, imageRegistryCredentials={"secrets": ["pull"]})
    wrong = _secret(registry, "kyverno", "wrong horse")
    assert _scan(tmp_path, named, pod, own, wrong)[0] == "fail"


def test_an_image_validating_policys_secret(registry: Registry, key: str, tmp_path: Path) -> None:
    named = _image_policy(key, credentials={"secrets": ["pull"]})
    pod, secret = _pod(registry), _secret(registry, "kyverno")
    assert _scan(tmp_path, named, pod, secret)[0] == "pass"
    for policy, objects in ((named, (pod,)), (_image_policy(key), (pod, secret))):
        status, message = _scan(tmp_path, policy, *objects)
        assert status == "error"
        assert "UNAUTHORIZED: not you:" in message


def _trickle(handler: Handler) -> bool:
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
    while not handler.stop.wait(0.05):
        handler.wfile.write(b" ")
    return True


def _another(handler: Handler) -> bool:
    handler.answer(200, b'{"another": "document"}')
    return True


@pytest.mark.parametrize(
    ("fault", "is_verdict", "said"),
    [
        (slow, False, "the server sent nothing for 0.3 seconds, in 2 attempts"),
        (_trickle, False, "no answer within 0.6 seconds, in 2 attempts"),
        (cut, True, "the server cut the answer, in 2 attempts"),
        (_another, True, "no (matching )?signatures"),
    ],
)
@pytest.mark.parametrize("place", ["manifests/1", "manifests/sha256-", "blobs/sha256:"])
def test_what_is_a_verdict(
    registry: Registry,
    fault: Fault,
    is_verdict: bool,
    said: str,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    private = new_key()
    digest = registry.add_image("team/signed", "1", CONFIG)
    push(registry, "team/signed", digest, [Signer(private).signature(digest)], "sig")
    registry.faults.update(
        {path: [fault] for path in registry.documents if f"signed/{place}" in path}
    )
    limits = Limits(pause=0.01, attempts=2)
    # A machine may stand still for a while, so only the one limit is short that is asked about.
    hasty(monkeypatch, lambda url: urlsplit(url).path in registry.faults)
    if fault is slow:
        limits = replace(limits, silence=0.3)
    elif fault is _trickle:
        limits = replace(limits, patience=0.6)
    image = f"{registry.host}/team/signed:1"
    question = VerificationRequest(image, key=key_pem(private), ignores_log=True, ignores_sct=True)
    with pytest.raises(LookupFailed, match=said) as caught:
        Signatures(Registries(Settings(limits=limits))).signature(question)
    assert isinstance(caught.value, SignatureError) == is_verdict
