"""Who the user is to a registry, tokens too, and that nobody else learns it."""

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import ChartkitError, InputError
from chartkit.network.registry.credentials import Login, read_docker_config
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, RegistryError, Settings
from chartkit.network.registry.transport import read_challenge
from tests.data import from_table
from tests.unit.network.registry.registry_server import Handler, Registry, basic, digest_of

PASSWORD = "correct horse"
CALM = Limits(pause=0.01)


def _write(path: Path, **body: Any) -> None:
    path.write_text(json.dumps(body))


def _auth(password: str = PASSWORD) -> dict[str, str]:
    return {"auth": base64.b64encode(f"who:{password}".encode()).decode()}


def _digest(registry: Registry) -> str:
    return Registries(Settings(limits=CALM)).digest(f"{registry.host}/team/app:1")


def _right(registry: Registry) -> str:
    return digest_of(registry.documents["/v2/team/app/manifests/1"][1])


@pytest.mark.parametrize("bearer", [False, True])
def test_private_with_credentials(registry: Registry, docker_config: Path, bearer: bool) -> None:
    registry.password, registry.bearer = PASSWORD, bearer
    _write(docker_config, auths={registry.host: _auth()})
    asked = Registries(Settings(limits=CALM))
    reference = f"{registry.host}/team/app:1"
    assert asked.digest(reference) == _right(registry)
    asked.image(reference)
    assert sum("token" in each for each in registry.asked) == bearer
    wanted = f"Bearer {registry.token}" if bearer else basic("who", PASSWORD)
    assert registry.sent[-1] == wanted


@pytest.mark.parametrize("bearer", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_private_without_the_right_credentials(
    registry: Registry, docker_config: Path, bearer: bool, known: bool
) -> None:
    registry.password, registry.bearer = PASSWORD, bearer
    if known:
        _write(docker_config, auths={registry.host: _auth("wrong horse")})
    with pytest.raises(ChartkitError) as caught:
        _digest(registry)
    text = str(caught.value)
    query = "scope=repository%3Ateam%2Fapp%3Apull&service=a%2C+b"
    asked = (
        f"GET http://{registry.host}/token?{query}: unexpected status code 401 Unauthorized: {{}}"
    )
    wanted = asked if bearer else "UNAUTHORIZED: not you:"
    assert wanted in text
    for secret in ("wrong horse", _auth("wrong horse")["auth"]):
        assert secret not in text


def test_a_token_that_is_sent_back_is_not_shown(registry: Registry) -> None:
    registry.bearer = True

    def echo(handler: Handler) -> bool:
        handler.fail(403, "DENIED", handler.headers.get("Authorization", "nobody"))
        return bool(handler.headers.get("Authorization"))

    def twice(handler: Handler) -> bool:
        return bool(handler.headers.get("Authorization")) and echo(handler)

    registry.faults["/v2/team/app/manifests/1"] = [twice]
    with pytest.raises(ChartkitError, match=r"DENIED: Bearer \*\*\*") as caught:
        _digest(registry)
    assert registry.token not in str(caught.value)


def test_everybody_may_have_a_token(registry: Registry) -> None:
    registry.bearer = True
    assert _digest(registry) == _right(registry)


def test_an_identity_token_is_exchanged(registry: Registry, docker_config: Path) -> None:
    registry.password, registry.bearer = PASSWORD, True
    _write(docker_config, auths={registry.host: {"identitytoken": PASSWORD}})
    assert _digest(registry) == _right(registry)
    assert "POST /token" in registry.asked


@from_table("realm", "said")
def test_passwords_go_to_no_other_realm(
    registry: Registry, docker_config: Path, realm: str, said: str
) -> None:
    registry.password, registry.bearer, registry.realm = PASSWORD, True, realm
    _write(docker_config, auths={registry.host: _auth()})
    with pytest.raises(ChartkitError, match=said) as caught:
        _digest(registry)
    assert PASSWORD not in str(caught.value)
    assert "secret@" not in str(caught.value)


_HELPER = """#!/bin/sh
read server
[ "$server" = "{server}" ] || {{ echo "credentials not found in native keychain"; exit 1; }}
{then}
"""


def _helper(folder: Path, server: str, then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "docker-credential-ours"
    path.write_text(_HELPER.format(server=server, then=then))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("where", ["credHelpers", "credsStore"])
def test_helpers_are_asked(
    registry: Registry,
    docker_config: Path,
    tmp_path: Path,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.password = PASSWORD
    answer = json.dumps({"ServerURL": "x", "Username": "who", "Secret": PASSWORD})
    _helper(tmp_path, registry.host, f"echo '{answer}'", monkeypatch)
    _write(docker_config, **{where: "ours" if where == "credsStore" else {registry.host: "ours"}})
    assert _digest(registry) == _right(registry)


def test_a_store_stands_in_place_of_the_file(
    registry: Registry, docker_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.password = PASSWORD
    _helper(tmp_path, "elsewhere", "exit 3", monkeypatch)
    _write(docker_config, credsStore="ours", auths={registry.host: _auth()})
    with pytest.raises(ChartkitError, match="UNAUTHORIZED"):
        _digest(registry)


@pytest.mark.parametrize(
    "key", ["{}/team/app", "{}/team", "{}"], ids=["repository", "part", "registry"]
)
def test_a_helper_that_knows_nobody(
    registry: Registry,
    docker_config: Path,
    tmp_path: Path,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.password = PASSWORD
    _helper(tmp_path, "elsewhere", "exit 3", monkeypatch)
    auths = {f"{registry.host}/team/app": _auth(), registry.host: _auth()}
    named = key.format(registry.host)
    del auths[named if named in auths else registry.host]
    _write(docker_config, credHelpers={named: "ours"}, auths=auths)
    assert _digest(registry) == _right(registry)


@from_table("then", "said")
def test_helpers_that_fail(
    registry: Registry,
    docker_config: Path,
    tmp_path: Path,
    then: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.password = PASSWORD
    _helper(tmp_path, registry.host, then, monkeypatch)
    _write(docker_config, credsStore="ours")
    with pytest.raises(ChartkitError, match=f"docker-credential-ours {said}") as caught:
        _digest(registry)
    assert "secret words" not in str(caught.value)


def test_a_helper_that_is_not_there(registry: Registry, docker_config: Path) -> None:
    registry.password = PASSWORD
    _write(docker_config, credsStore="nobody-has-this-one")
    with pytest.raises(ChartkitError, match="docker-credential-nobody-has-this-one is not there"):
        _digest(registry)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "auths must be a mapping"),
        ('{"auths": "secret"}', "auths must be a mapping"),
        ('{"credsStore": "../bin/sh"}', "names a credential helper with an invalid name"),
        ('{"credHelpers": {"a": 1}}', "names a credential helper with an invalid name"),
        (" " * 1_000_001, "is larger than 1,000,000 bytes"),
    ],
)
def test_files_that_are_wrong(docker_config: Path, text: str, said: str) -> None:
    docker_config.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_docker_config()
    assert str(caught.value).startswith(str(docker_config))
    assert "secret" not in str(caught.value)


@from_table("key", "registry", "repository", "known")
def test_under_which_name_they_stand(
    docker_config: Path, key: str, registry: str, repository: str, known: bool
) -> None:
    _write(docker_config, auths={key: _auth()})
    found = read_docker_config().find(registry, repository)
    assert found == (Login("who", PASSWORD) if known else None)
    assert PASSWORD not in repr(found)


@from_table("header", "bearer", "realm")
def test_credentials_challenges(header: str, bearer: bool, realm: str) -> None:
    found = read_challenge(header)
    assert found is not None
    assert (found.is_bearer, found.parameters["realm"]) == (bearer, realm)


def test_what_is_no_challenge() -> None:
    assert read_challenge("") is None
    assert read_challenge('Negotiate realm="x"') is None


def _who(text: str = f"who:{PASSWORD}") -> str:
    return base64.b64encode(text.encode()).decode()


def _tokens(registry: Registry) -> list[str]:
    return [each for each in registry.asked if each.endswith("/token")]


def test_a_registry_token_is_sent_as_it_is(registry: Registry, docker_config: Path) -> None:
    registry.bearer = True
    both = {"auth": _who(), "identitytoken": "another", "registrytoken": registry.token}
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
    _write(docker_config, auths={registry.host: {"auth": _who(), "identitytoken": "identity"}})
    assert _digest(registry) == _right(registry)
    assert _tokens(registry) == ["POST /token", "GET /token"]


def test_a_name_counts_where_no_token_is_wanted(registry: Registry, docker_config: Path) -> None:
    registry.password = PASSWORD
    _write(docker_config, auths={registry.host: {"auth": _who(), "identitytoken": "identity"}})
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
    _write(docker_config, auths={registry.host: {"auth": _who("who:")}})
    with pytest.raises(ChartkitError, match="UNAUTHORIZED"):
        _digest(registry)
    assert set(registry.sent) == {""}


@pytest.mark.parametrize("auth", [_who(), _who().rstrip("="), f"{_who()[:8]}\n{_who()[8:]}\n"])
def test_base64_as_people_write_it(docker_config: Path, auth: str) -> None:
    assert _who().endswith("=")
    _write(docker_config, auths={"ghcr.io": {"auth": auth}})
    assert read_docker_config().find("ghcr.io", "team/app") == Login("who", PASSWORD)


@pytest.mark.parametrize(
    ("auth", "said"), [(_who("secret"), "is not a name and password"), ("secret!", "is not base64")]
)
def test_auths_that_are_wrong(docker_config: Path, auth: str, said: str) -> None:
    _write(docker_config, auths={"ghcr.io": {"auth": auth}})
    with pytest.raises(RegistryError, match=f"the auth of ghcr.io {said}") as caught:
        read_docker_config().find("ghcr.io", "team/app")
    assert "secret" not in str(caught.value)


def test_the_variable_comes_before_the_file(
    docker_config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(docker_config, auths={one: {"auth": _who()} for one in ("ghcr.io", "quay.io")})
    own = {"auths": {"https://ghcr.io": {"auth": _who("me:other")}}}
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
        _write(path, auths={"ghcr.io": {"auth": _who(f"{path.parent.name}:{PASSWORD}")}})
        assert read_docker_config().find("ghcr.io", "team/app") == Login(path.parent.name, PASSWORD)
