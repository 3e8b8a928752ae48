"""`--registry`: policies whose answers are in a registry, through the command."""

from __future__ import annotations

import contextlib
import io
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.cli.main import main
from chartkit.errors import InputError
from chartkit.registry import Registries, read_settings
from chartkit.registry.errors import RegistryError
from tests.self_signed import self_signed
from tests.unit.registry.conftest import CONFIG
from tests.unit.registry.registry_server import Handler, Registry, digest_of, serving


def _run(command: str, folder: Path, policy: Any, image: str, *options: str) -> tuple[int, str]:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    (folder / "pod.yaml").write_text(yaml.safe_dump(pod))
    words = [command, "-p", str(folder / "policy.yaml"), str(folder / "pod.yaml"), "-o", "json"]
    said, wrong = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(wrong),
        pytest.raises(SystemExit) as ended,
    ):
        main([*words, *options])
    return int(str(ended.value.code)), said.getvalue() or wrong.getvalue()


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


def test_image_validating_policies(registry: Registry, tmp_path: Path) -> None:
    policy = _cel("images.containers.all(one, getImageData(one).config.config.User == '0')")
    policy["kind"] = "ImageValidatingPolicy"
    policy["spec"]["attestors"] = [{"name": "ci", "cosign": {"key": {"data": "k"}}}]
    policy["spec"]["matchImageReferences"] = [{"glob": "*"}]
    policy["spec"]["validationConfigurations"] = {"verifyDigest": False, "required": False}
    image = f"{registry.host}/team/app:1"
    assert _results(_run("scan", tmp_path, policy, image, "--registry")[1]) == [("fail", "no")]
    policy["spec"]["validations"] = [
        {"expression": "images.containers.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"}
    ]
    ((status, message),) = _results(_run("scan", tmp_path, policy, image, "--registry")[1])
    assert status == "error"
    assert "signatures are not evaluated yet" in message
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


def test_signatures_stay_an_error(registry: Registry, tmp_path: Path) -> None:
    signed = _pins(attestors=[{"entries": [{"keys": {"publicKeys": "k"}}]}])
    code, text = _run("scan", tmp_path, signed, f"{registry.host}/team/app:1", "--registry")
    assert code == 1
    assert "the signature could not be verified: signatures are not evaluated yet" in text
    assert '"pass": 0' in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--registry-mirror", "a.io=b.io"), "nobody asks them (add --registry)"),
        (("--registry", "--registry-mirror", "a.io"), "takes REGISTRY=HOST"),
        (("--registry", "--registry-mirror", "a.io=https://b.io"), "'https://b.io' is no host"),
        (("--registry", "--registry-plain-http", "a/b"), "'a/b' is no host"),
        (("--registry", "--registry-ca", "/nowhere.pem"), "/nowhere.pem: cannot be read: No such"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    code, text = _run("scan", tmp_path, _pins(), "nginx", *options)
    assert code == 2
    assert said in text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate that nobody else has signed, for 127.0.0.1, and its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


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
    with pytest.raises(InputError, match="holds no certificate"):
        read_settings(authorities=file)
