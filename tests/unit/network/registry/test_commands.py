"""`--registry`: policies whose answers are in a registry, through the command."""

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.errors import InputError
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import RegistryError, read_settings
from tests.data import from_table
from tests.e2e.command import called
from tests.objects import api_object
from tests.signing.authority import key_pem, new_key
from tests.unit.network.registry.conftest import CONFIG
from tests.unit.network.registry.registry_server import Handler, Registry, digest_of, serving


def _run(command: str, folder: Path, policy: Any, image: str, *options: str) -> tuple[int, str]:
    pod = api_object("v1", "Pod", "a", spec={"containers": [{"name": "c", "image": image}]})
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    (folder / "pod.yaml").write_text(yaml.safe_dump(pod))
    done = called(folder, command, "-p", "policy.yaml", "pod.yaml", "-o", "json", *options)
    return done.code, done.out or done.err


def _results(text: str) -> list[tuple[str, str]]:
    return [(one["result"], one["message"]) for one in json.loads(text)["results"]]


def _policy(rule: Any) -> Any:
    matched = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "background": False,
            "validationFailureAction": "Enforce",
            "rules": [{"name": "r", "match": matched, **rule}],
        },
    }


def _asks_user(path: str = "configData.config.User") -> Any:
    entry = {"reference": "{{ element.image }}", "jmesPath": path}
    deny = {"conditions": {"any": [{"key": "{{ user }}", "operator": "NotEquals", "value": "0"}]}}
    each = {
        "list": "request.object.spec.containers",
        "context": [{"name": "user", "imageRegistry": entry}],
        "deny": deny,
    }
    return _policy({"validate": {"message": "user {{ user }}", "foreach": [each]}})


def _pins(**fields: Any) -> Any:
    return _policy({"verifyImages": [{"imageReferences": ["*"], "required": False, **fields}]})


def _cel(expression: str) -> Any:
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [{"expression": expression, "message": "no"}],
        },
    }


def test_context_entries(registry: Registry, tmp_path: Path) -> None:
    image = f"{registry.host}/team/app:1"
    code, text = _run("scan", tmp_path, _asks_user(), image, "--registry")
    assert code == 1
    assert _results(text) == [("fail", "validation failure: user 65532")]
    code, text = _run("scan", tmp_path, _asks_user(), image)
    assert "65532" not in text
    assert all("manifests" in each or "blobs" in each for each in registry.asked)
    assert len(registry.asked) == 2


def test_a_policys_own_credentials(registry: Registry, tmp_path: Path) -> None:
    registry.password = "battery staple"
    login = {"auth": base64.b64encode(b"who:battery staple").decode()}
    content = json.dumps({"auths": {registry.host: login}}).encode()
    data = base64.b64encode(content).decode()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pull", "namespace": "kyverno"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": data},
    }
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(secret))
    policy = _asks_user()
    (entry,) = policy["spec"]["rules"][0]["validate"]["foreach"][0]["context"]
    entry["imageRegistry"]["imageRegistryCredentials"] = {"secrets": ["pull"]}
    image = f"{registry.host}/team/app:1"
    code, text = _run("scan", tmp_path, policy, image, "--registry")
    assert code == 1
    assert "UNAUTHORIZED: not you:" in text
    shared = ("--registry", str(tmp_path / "secret.yaml"), "--detailed")
    code, text = _run("scan", tmp_path, policy, image, *shared)
    assert _results(text) == [("fail", "validation failure: user 65532")]
    for secret_text in ("battery", login["auth"], data):
        assert secret_text not in text


def test_cel_of_images(registry: Registry, tmp_path: Path) -> None:
    user = "image.GetMetadata(object.spec.containers[0].image).config.config.User"
    image = f"{registry.host}/team/app:1"
    policy = _cel(f"{user} == '65532'")
    assert _results(_run("scan", tmp_path, policy, image, "--registry", "--detailed")[1]) == [
        ("pass", "success")
    ]
    code, text = _run("scan", tmp_path, policy, image.replace(":1", ":no"), "--registry")
    assert code == 1
    assert "failed to get image data: GET http" in text
    assert "MANIFEST_UNKNOWN: manifest unknown" in text


def test_registry_commands_image_validating_policies(registry: Registry, tmp_path: Path) -> None:
    policy = _cel("images.containers.all(one, getImageData(one).ConfigData.Config.User == '0')")
    policy["kind"] = "ImageValidatingPolicy"
    policy["spec"]["attestors"] = [{"name": "ci", "cosign": {"key": {"data": "k"}}}]
    policy["spec"]["matchImageReferences"] = [{"glob": "*"}]
    settings = ("verifyDigest", "required", "mutateDigest")
    policy["spec"]["validationConfigurations"] = dict.fromkeys(settings, False)
    image = f"{registry.host}/team/app:1"
    assert _results(_run("scan", tmp_path, policy, image, "--registry")[1]) == [("fail", "no")]
    policy["spec"]["validations"] = [
        {"expression": "images.containers.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"}
    ]
    text = _run("scan", tmp_path, policy, image, "--registry")[1]
    assert _results(text) == [("fail", "CEL expression validation failed at index 0")]
    reason = json.loads(text)["results"][0]["properties"]["verification"]
    assert reason.startswith(f"{image}: attestor ci: failed to build cosign verification opts: ")
    gone = image.replace(":1", ":no")
    ((status, message),) = _results(_run("scan", tmp_path, policy, gone, "--registry")[1])
    url = f"GET http://{registry.host}/v2/team/app/manifests/no"
    text = f"{url}: MANIFEST_UNKNOWN: manifest unknown"
    assert (status, message) == ("error", f"failed to evaluate policy: {text}")


def test_a_context_entry_that_is_not_there(registry: Registry, tmp_path: Path) -> None:
    image = f"{registry.host}/team/app:no"
    _, text = _run("scan", tmp_path, _asks_user(), image, "--registry")
    assert f"failed to fetch image descriptor: {image}, error: " in text
    assert "MANIFEST_UNKNOWN: manifest unknown" in text


def test_digests_are_added(registry: Registry, tmp_path: Path) -> None:
    image = f"{registry.host}/team/app:1"
    digest = digest_of(registry.documents["/v2/team/app/manifests/1"][1])
    code, text = _run("scan", tmp_path, _pins(), image, "--registry", "--detailed")
    assert code == 0
    assert _results(text) == [("pass", "mutated image digest"), ("pass", "image verified")]
    _, text = _run("preview", tmp_path, _pins(), image, "--registry")
    assert f"{image}@{digest}" in text


def test_a_digest_that_is_not_there(registry: Registry, tmp_path: Path) -> None:
    image = f"{registry.host}/team/app:no"
    _, text = _run("scan", tmp_path, _pins(), image, "--registry")
    assert _results(text) == [
        (
            "error",
            f"failed to update digest: failed to fetch image reference: {image}, error: GET "
            f"http://{registry.host}/v2/team/app/manifests/no: MANIFEST_UNKNOWN: manifest unknown",
        ),
        ("fail", f"missing digest for {image}"),
    ]


@from_table("key", "why")
def test_a_key_that_is_elsewhere_is_no_verdict(
    registry: Registry, tmp_path: Path, key: str, why: str
) -> None:
    keys = [{"entries": [{"keys": {"publicKeys": key}}]}]
    signed = _pins(mutateDigest=False, verifyDigest=False, attestors=keys)
    image = f"{registry.host}/team/app:1"
    code, text = _run("scan", tmp_path, signed, image, "--registry")
    assert code == 1
    ((status, message),) = _results(text)
    place = f"failed to verify image {image}: .attestors[0].entries[0].keys: "
    assert status == "error"
    assert message.startswith(f"{place}failed to load public key from {key}: {why}")


@from_table("answer", "said")
def test_bad_news_of_a_registry_is_a_failure(
    registry: Registry, tmp_path: Path, answer: list[Any], said: str
) -> None:
    def refuses(handler: Handler) -> bool:
        handler.fail(*answer, Retry_After="0")
        return True

    path = "/v2/team/app/manifests/1"
    registry.faults[path] = [refuses]
    signed = _pins(mutateDigest=False, verifyDigest=False, attestors=_by_key())
    image = f"{registry.host}/team/app:1"
    ((status, message),) = _results(_run("scan", tmp_path, signed, image, "--registry")[1])
    place = f"failed to verify image {image}: .attestors[0].entries[0].keys: "
    assert status == "fail"
    assert message.startswith(place + said.format(f"http://{registry.host}{path}"))


def test_a_registry_that_is_not_reached_is_an_error(tmp_path: Path) -> None:
    signed = _pins(mutateDigest=False, verifyDigest=False, attestors=_by_key())
    text = _run("scan", tmp_path, signed, "127.0.0.1:1/team/app:1", "--registry")[1]
    ((status, message),) = _results(text)
    assert status == "error"
    assert "the server cannot be reached: Connection refused" in message


def _by_key() -> Any:
    keys = {
        "publicKeys": key_pem(new_key()),
        "rekor": {"ignoreTlog": True},
        "ctlog": {"ignoreSCT": True},
    }
    return [{"entries": [{"keys": keys}]}]


@from_table("options", "said")
def test_options_that_are_wrong(tmp_path: Path, options: list[str], said: str) -> None:
    code, text = _run("scan", tmp_path, _pins(), "nginx", *options)
    assert code == 2
    assert said in text


def test_private_authorities_and_redirects(registry: Registry, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    registry.bearer = True
    with serving(context) as store:
        store.add_image("team/app", "1", CONFIG)
        path = "/v2/team/app/manifests/1"

        def away(handler: Handler) -> bool:
            if not handler.headers.get("Authorization"):
                return False
            handler.answer(307, b"", Location=f"https://{store.host}{path}")
            return True

        registry.faults[path] = [away]
        reference = f"{registry.host}/team/app:1"
        with pytest.raises(RegistryError, match="the certificate is not trusted: self"):
            Registries(read_settings()).digest(reference)
        found = Registries(read_settings(authorities=certificate)).digest(reference)
        assert found == digest_of(store.documents[path][1])
        assert registry.token in registry.sent[-1]
        assert store.sent == [""]


def test_a_file_without_certificates(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    with pytest.raises(InputError, match="contains no certificate"):
        read_settings(authorities=file)
