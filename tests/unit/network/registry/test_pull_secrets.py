"""As whom registries are asked where a policy names its own credentials."""

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from chartkit.engine.ports.signatures import read_credentials
from chartkit.engine.ports.world import NOBODY_ELSE, Credentials
from chartkit.model import Body
from chartkit.network.registry.credentials import Login, find_login, read_pull_secret
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, RegistryError, Settings
from tests.data import from_table
from tests.unit.network.registry.registry_server import Registry, basic, digest_of, serving

PASSWORD = "battery staple"
OTHER = "wrong horse"
CALM = Limits(pause=0.01)
NAMED = Credentials(secrets=("pull",))


def _auth(password: str = PASSWORD) -> Body:
    return {"auth": base64.b64encode(f"who:{password}".encode()).decode()}


def _secret(auths: Body, place: str = "kyverno/pull", old: bool = False, **extra: Any) -> Body:
    namespace, name = place.split("/")
    content = json.dumps(auths if old else {"auths": auths}).encode()
    kind, key = ("dockercfg", ".dockercfg") if old else ("dockerconfigjson", ".dockerconfigjson")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": f"kubernetes.io/{kind}",
        "data": {key: base64.b64encode(content).decode()},
        **extra,
    }


def _registries(*objects: Body, **given: Any) -> Registries:
    made = Registries(Settings(limits=CALM, **given))
    made.learn(objects)
    return made


def _reference(registry: Registry) -> str:
    return f"{registry.host}/team/app:1"


def _right(registry: Registry) -> str:
    return digest_of(registry.documents["/v2/team/app/manifests/1"][1])


def _docker(docker_config: Path, registry: Registry, password: str) -> None:
    docker_config.write_text(json.dumps({"auths": {registry.host: _auth(password)}}))


@pytest.mark.parametrize("bearer", [False, True])
@pytest.mark.parametrize("old", [False, True])
def test_a_secret_that_a_policy_names(registry: Registry, bearer: bool, old: bool) -> None:
    registry.password, registry.bearer = PASSWORD, bearer
    asked = _registries(_secret({registry.host: _auth()}, old=old))
    assert asked.digest(_reference(registry), NAMED) == _right(registry)
    assert asked.image(_reference(registry), NAMED)["configData"]["os"] == "linux"
    resolved = asked.artifacts(NAMED).resolve(_reference(registry))
    assert resolved.document.digest == _right(registry)
    # One manifest and one configuration; the first was refused, and a token is fetched once.
    assert len(registry.asked) == 3 + bearer


def test_a_secret_in_another_namespace_and_as_plain_text(registry: Registry) -> None:
    registry.password = PASSWORD
    text = json.dumps({"auths": {registry.host: _auth()}})
    secret = _secret({}, "team/pull", stringData={".dockerconfigjson": text})
    named = Credentials(secrets=("team/pull",))
    assert _registries(secret).digest(_reference(registry), named) == _right(registry)
    with pytest.raises(RegistryError, match="UNAUTHORIZED"):
        _registries(secret).digest(_reference(registry), NAMED)


def test_nobody_is_answered_with_the_rights_of_another(registry: Registry, tmp_path: Path) -> None:
    registry.password = PASSWORD
    by_digest = f"{registry.host}/team/app@{_right(registry)}"
    objects = (_secret({registry.host: _auth()}), _secret({registry.host: _auth(OTHER)}, "a/b"))
    asked = _registries(*objects, cache=tmp_path / "cache")
    for reference in (_reference(registry), by_digest):
        assert asked.digest(reference, NAMED) == _right(registry)
        for others in (NOBODY_ELSE, Credentials(secrets=("a/b",)), Credentials(secrets=("none",))):
            with pytest.raises(RegistryError, match="UNAUTHORIZED"):
                asked.digest(reference, others)
    later = _registries(*objects, cache=tmp_path / "cache")
    with pytest.raises(RegistryError, match="UNAUTHORIZED"):
        later.digest(by_digest)


def test_a_secret_that_changes_is_another(registry: Registry) -> None:
    registry.password = PASSWORD
    asked = _registries(_secret({registry.host: _auth()}))
    assert asked.digest(_reference(registry), NAMED) == _right(registry)
    asked.learn([_secret({registry.host: _auth(OTHER)})])
    with pytest.raises(RegistryError, match="UNAUTHORIZED"):
        asked.digest(_reference(registry), NAMED)


@pytest.mark.parametrize(
    ("credentials", "stands_in"),
    [
        (NAMED, True),
        (Credentials(providers=("amazon",)), True),
        (Credentials(secrets=("team/there",), providers=("default",)), True),
        (Credentials(secrets=("team/there",)), False),
        (Credentials(secrets=("team/there", "pull")), True),
    ],
)
def test_when_dockers_configuration_stands_in(
    registry: Registry, docker_config: Path, credentials: Credentials, stands_in: bool
) -> None:
    registry.password = PASSWORD
    _docker(docker_config, registry, PASSWORD)
    asked = _registries(_secret({"elsewhere.example.com": _auth(OTHER)}, "team/there"))
    if stands_in:
        assert asked.digest(_reference(registry), credentials) == _right(registry)
        return
    with pytest.raises(RegistryError, match="UNAUTHORIZED"):
        asked.digest(_reference(registry), credentials)
    assert set(registry.sent) == {""}


def test_a_policys_secret_comes_before_the_user(registry: Registry, docker_config: Path) -> None:
    registry.password = PASSWORD
    _docker(docker_config, registry, PASSWORD)
    named = Credentials(secrets=("pull",), providers=("default",))
    asked = _registries(_secret({registry.host: _auth(OTHER)}))
    with pytest.raises(RegistryError, match=r"not you: Basic \*\*\*$") as caught:
        asked.digest(_reference(registry), named)
    assert registry.sent == ["", basic("who", OTHER)]
    assert OTHER not in str(caught.value)


@from_table("key", "covers")
def test_the_entries_of_a_secret(key: str, covers: bool) -> None:
    secret = read_pull_secret(_secret({key: _auth()}))
    assert secret is not None
    found = find_login([secret], "ghcr.io", "team/app")
    assert found == (Login("who", PASSWORD) if covers else None)
    assert PASSWORD not in repr(secret)


def test_the_narrowest_entry_counts_and_the_first_secret() -> None:
    wide = {"index.docker.io": _auth("wide"), "https://index.docker.io/v1/": _auth("hub")}
    secrets = [
        read_pull_secret(_secret(auths, f"kyverno/{name}"))
        for name, auths in (
            ("a", {"ghcr.io": _auth("wide"), "ghcr.io/team/app": _auth("narrow")}),
            ("b", {"ghcr.io/team/app": _auth("late"), **wide}),
        )
    ]
    known = [secret for secret in secrets if secret is not None]
    assert find_login(known, "ghcr.io", "team/app") == Login("who", "narrow")
    assert find_login(known, "ghcr.io", "team/other") == Login("who", "wide")
    assert find_login(known, "index.docker.io", "library/nginx") == Login("who", "wide")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{secret words", "the Secret kyverno/pull contains no Docker configuration"),
        (b'["secret words"]', "the Secret kyverno/pull contains no Docker configuration"),
        (b'{"auths": {"x": "secret words"}}', "the Secret kyverno/pull contains no Docker"),
        (
            b'{"auths": {"127.0.0.1": {"auth": "secret words"}}}',
            "an auth in the Secret kyverno/pull is not base64",
        ),
    ],
)
def test_secrets_that_are_wrong(registry: Registry, content: bytes, said: str) -> None:
    registry.password = PASSWORD
    content = content.replace(b"127.0.0.1", registry.host.encode())
    data = {".dockerconfigjson": base64.b64encode(content).decode()}
    asked = _registries(_secret({}, data=data))
    with pytest.raises(RegistryError, match=said) as caught:
        asked.digest(_reference(registry), NAMED)
    assert caught.value.unanswered
    assert "secret words" not in str(caught.value)


@pytest.mark.parametrize("extra", [{"type": "Opaque"}, {"data": {}}, {"data": None}])
def test_secrets_that_name_nobody(registry: Registry, extra: Body) -> None:
    registry.password = PASSWORD
    asked = _registries(_secret({registry.host: _auth()}, **extra))
    with pytest.raises(RegistryError, match="UNAUTHORIZED"):
        asked.digest(_reference(registry), NAMED)


def test_what_a_policy_says_of_credentials() -> None:
    body = {"providers": ["google"], "secrets": ["a", "b/c"], "allowInsecureRegistry": True}
    assert read_credentials(body) == Credentials(("google",), ("a", "b/c"), True)
    assert read_credentials(None) == NOBODY_ELSE
    assert read_credentials({"secrets": "a", "providers": None}) == NOBODY_ELSE


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry on loopback as if it were elsewhere: nobody speaks to it unencrypted."""
    monkeypatch.setattr("chartkit.network.registry.client.is_loopback", lambda _host: False)


@pytest.mark.usefixtures("far")
def test_a_registry_without_encryption_for_one_policy_alone(registry: Registry) -> None:
    registry.password = PASSWORD
    asked = _registries(_secret({registry.host: _auth()}))
    with pytest.raises(RegistryError, match="/1: the server does not speak TLS") as caught:
        asked.digest(_reference(registry), NAMED)
    assert caught.value.unanswered
    assert "--registry-plain-http" in str(caught.value)
    insecure = Credentials(secrets=("pull",), insecure=True)
    assert asked.digest(_reference(registry), insecure) == _right(registry)
    assert asked.image(_reference(registry), insecure)["configData"]["os"] == "linux"


@pytest.mark.usefixtures("far")
def test_the_users_own_password_is_sent_to_nobody_unencrypted(
    registry: Registry, docker_config: Path
) -> None:
    registry.password = PASSWORD
    _docker(docker_config, registry, PASSWORD)
    with pytest.raises(RegistryError, match="UNAUTHORIZED"):
        _registries().digest(_reference(registry), Credentials(insecure=True))
    assert set(registry.sent) == {""}


@pytest.mark.usefixtures("far")
def test_nobody_there_with_and_without_encryption() -> None:
    with pytest.raises(RegistryError) as caught:
        _registries().digest("127.0.0.1:1/team/app:1", Credentials(insecure=True))
    text = str(caught.value)
    assert "GET https://127.0.0.1:1/" in text
    assert "; GET http://127.0.0.1:1/" in text
    assert caught.value.unanswered


@pytest.mark.usefixtures("far")
def test_a_certificate_that_is_not_trusted_stays_so(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as registry:
        with pytest.raises(RegistryError, match="the certificate is not trusted: self") as caught:
            _registries().digest(_reference(registry), Credentials(insecure=True))
        assert f"; GET http://{registry.host}/" in str(caught.value)
        assert registry.asked == []
