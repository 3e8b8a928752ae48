"""The pages about images, with a registry and signers of the tests in place of those that they
name."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from chartkit.model import Body
from tests.conformance.signed_manifests import changed, signed
from tests.e2e.transcript import DOCS, check_page
from tests.objects import api_object
from tests.signing.authority import key_pem, new_key
from tests.signing.cosign import Signer, push
from tests.unit.network.registry.registry_server import Registry, serving

VULNERABILITIES = "https://cosign.sigstore.dev/attestation/vuln/v1"
KEY = new_key()
CONFIG: Body = api_object("v1", "ConfigMap", "shop/settings", data={"a": "one", "b": "two"})
_POLICIES = re.compile(r"(?<=^```yaml\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_KEY = re.compile(
    r"^( *)-----BEGIN PUBLIC KEY-----\n *…\n *-----END PUBLIC KEY-----$", re.MULTILINE
)
_DIGEST = re.compile(r"sha256:([0-9a-f]{4})[0-9a-f]{60}")

MIRRORED = """() {
  case " $* " in
    *" --registry "*) command chartkit "$@" --registry-mirror ghcr.io=HOST ;;
    *) command chartkit "$@" ;;
  esac
}"""
"""`chartkit` in a shell: it asks the registry of the test for the images of another."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    """`app` is signed and scanned without findings, `old` with three, `tool` is nobody's."""
    with serving() as made:
        for name, findings in (("app", 0), ("old", 3)):
            repository = f"team/{name}"
            digest = made.add_image(repository, "1", {"of": name})
            attested = {"scanner": {"result": {"critical": findings}}}
            signer = Signer(KEY)
            push(made, repository, digest, [signer.signature(digest)])
            layer = signer.attestation(digest, VULNERABILITIES, attested)
            push(made, repository, digest, [layer], "att")
        made.add_image("team/tool", "1", {"of": "tool"})
        yield made


def _pod(name: str, image: str) -> Body:
    spec = {"containers": [{"name": "app", "image": f"ghcr.io/team/{image}:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _write(folder: Path, name: str, *bodies: Body) -> None:
    (folder / name).write_text(yaml.safe_dump_all(bodies, sort_keys=False))


def _with_key(policy: str) -> str:
    """A policy of the page, with the key that signed here."""

    def written(found: re.Match[str]) -> str:
        return "\n".join(f"{found[1]}{line}" for line in key_pem(KEY).strip().splitlines())

    return _KEY.sub(written, policy)


@pytest.mark.parametrize(
    "page", [pytest.param("how-to/verify-images.md", marks=pytest.mark.slow), "reference/images.md"]
)
def test_images_pages(page: str, tmp_path: Path, registry: Registry, update: bool) -> None:
    for policy in _POLICIES.findall((DOCS / page).read_text("utf-8")):
        name = yaml.safe_load(policy)["metadata"]["name"]
        (tmp_path / f"{name}.yaml").write_text(_with_key(policy))
    pods = [_pod("scanned", "app"), _pod("severe", "old"), _pod("unsigned", "tool")]
    _write(tmp_path, "pods.yaml", *pods)
    _write(tmp_path, "pod.yaml", _pod("web", "app"))
    public = {"cosign.pub": base64.b64encode(key_pem(KEY).encode()).decode()}
    metadata = {"name": "signer", "namespace": "kyverno"}
    _write(
        tmp_path,
        "signer.yaml",
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": public},
    )
    one = signed(CONFIG, yaml.safe_dump(CONFIG).encode(), KEY)
    _write(tmp_path, "config.yaml", changed(one, "data.b", "three"))
    environment = {
        "DOCKER_CONFIG": str(tmp_path),
        "BASH_FUNC_chartkit%%": MIRRORED.replace("HOST", registry.host),
    }
    check_page(page, tmp_path, update, environment, lambda text: _DIGEST.sub(r"sha256:\1…", text))
