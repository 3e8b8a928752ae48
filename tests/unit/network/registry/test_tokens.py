"""Tokens in place of passwords, and where else than in Docker's file either may stand."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import ChartkitError, InputError
from chartkit.network.registry.credentials import Login, read_docker_config
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, RegistryError, Settings
from tests.unit.network.registry.registry_server import Handler, Registry, basic, digest_of

PASSWORD = "correct horse"
CALM = Limits(pause=0.01)


def _write(path: Path, **body: Any) -> None:
    path.write_text(json.dumps(body))


def _auth(text: str = f"who:{PASSWORD}") -> str:
    return base64.b64encode(text.encode()).decode()


def _digest(registry: Registry) -> str:
    return Registries(Settings(limits=CALM)).digest(f"{registry.host}/team/app:1")


def _right(registry: Registry) -> str:
    return digest_of(registry.documents["/v2/team/app/manifests/1"][1])


def _tokens(registry: Registry) -> list[str]:
    return [each for each in registry.asked if each.endswith("/token")]


def test_a_registry_token_is_sent_as_it_is(registry: Registry, docker_config: Path) -> None:
    registry.bearer = True
    both = {"auth": _auth(), "identitytoken": "another", "registrytoken": registry.token}
    _write(docker_config, auths={registry.host: both})
    assert _digest(registry) == _right(registry)
    assert registry.sent[-1] == f"Bearer {registry.token}"
    assert _tokens(registry) == []


@pytest.mark.parametrize("bearer", [False, True])
def test_a_registry_token_that_is_refused(
    registry: Registry, docker_config: Path, bearer: bool
) -> None:
    registry.password, registry.bearer = PASSWORD, bearer
    _write(docker_config, auths={registry.host: {"registrytoken": "an-old-token"}})
    with pytest.raises(ChartkitError, match=r"UNAUTHORIZED: not you: Bearer \*\*\*"):
        _digest(registry)
    assert registry.sent[-1] == "Bearer an-old-token"
    assert _tokens(registry) == []


def test_a_service_that_exchanges_no_identity_is_told_the_name(
    registry: Registry, docker_config: Path
) -> None:
    registry.password, registry.bearer = PASSWORD, True

    def unknown(handler: Handler) -> bool:
        if handler.command == "POST":
            handler.answer(404, b"{}")
        return handler.command == "POST"

    registry.faults["/token"] = [unknown]
    _write(docker_config, auths={registry.host: {"auth": _auth(), "identitytoken": "identity"}})
    assert _digest(registry) == _right(registry)
    assert _tokens(registry) == ["POST /token", "GET /token"]


def test_a_name_counts_where_no_token_is_wanted(registry: Registry, docker_config: Path) -> None:
    registry.password = PASSWORD
    _write(docker_config, auths={registry.host: {"auth": _auth(), "identitytoken": "identity"}})
    assert _digest(registry) == _right(registry)
    assert registry.sent[-1] == basic("who", PASSWORD)


def test_of_two_tokens_the_one_for_access_counts(registry: Registry) -> None:
    registry.bearer = True

    def both(handler: Handler) -> bool:
        handler.answer(200, json.dumps({"token": "x", "access_token": registry.token}).encode())
        return True

    registry.faults["/token"] = [both]
    assert _digest(registry) == _right(registry)


def test_a_name_without_a_password_is_nobody(registry: Registry, docker_config: Path) -> None:
    registry.password = PASSWORD
    _write(docker_config, auths={registry.host: {"auth": _auth("who:")}})
    with pytest.raises(ChartkitError, match="UNAUTHORIZED"):
        _digest(registry)
    assert set(registry.sent) == {""}


@pytest.mark.parametrize("auth", [_auth(), _auth().rstrip("="), f"{_auth()[:8]}\n{_auth()[8:]}\n"])
def test_base64_as_people_write_it(docker_config: Path, auth: str) -> None:
    assert _auth().endswith("=")
    _write(docker_config, auths={"ghcr.io": {"auth": auth}})
    assert read_docker_config().find("ghcr.io", "team/app") == Login("who", PASSWORD)


@pytest.mark.parametrize(
    ("auth", "said"),
    [(_auth("secret"), "is not a name and password"), ("secret!", "is not base64")],
)
def test_auths_that_are_wrong(docker_config: Path, auth: str, said: str) -> None:
    _write(docker_config, auths={"ghcr.io": {"auth": auth}})
    with pytest.raises(RegistryError, match=f"the auth of ghcr.io {said}") as caught:
        read_docker_config().find("ghcr.io", "team/app")
    assert "secret" not in str(caught.value)


def test_the_variable_comes_before_the_file(
    docker_config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(docker_config, auths={one: {"auth": _auth()} for one in ("ghcr.io", "quay.io")})
    own = {"auths": {"https://ghcr.io": {"auth": _auth("me:other")}}}
    monkeypatch.setenv("DOCKER_AUTH_CONFIG", json.dumps(own))
    found = read_docker_config()
    assert found.find("ghcr.io", "team/app") == Login("me", "other")
    assert found.find("quay.io", "team/app") == Login("who", PASSWORD)


@pytest.mark.parametrize(
    ("text", "said"), [("{secret", "is not JSON"), ('{"auths": "secret"}', "must be a mapping")]
)
def test_a_variable_that_is_wrong(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_AUTH_CONFIG", text)
    with pytest.raises(InputError, match=rf"^\$DOCKER_AUTH_CONFIG: .*{said}") as caught:
        read_docker_config()
    assert "secret" not in str(caught.value)


def test_podmans_file_counts_where_docker_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {
        ".config/containers/auth.json": {},
        "settings/containers/auth.json": {"XDG_CONFIG_HOME": str(tmp_path / "settings")},
        "run/containers/auth.json": {"XDG_RUNTIME_DIR": str(tmp_path / "run")},
        "named.json": {"REGISTRY_AUTH_FILE": str(tmp_path / "named.json")},
        ".docker/config.json": {},
        "docker/config.json": {"DOCKER_CONFIG": str(tmp_path / "docker")},
    }
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_docker_config().find("ghcr.io", "team/app") is None
    for place, variables in places.items():
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, auths={"ghcr.io": {"auth": _auth(f"{path.parent.name}:{PASSWORD}")}})
        assert read_docker_config().find("ghcr.io", "team/app") == Login(path.parent.name, PASSWORD)
