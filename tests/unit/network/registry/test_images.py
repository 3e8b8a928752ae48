"""Images out of a registry, whole and broken: the data that Kyverno builds, and its messages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, RegistryError, Settings
from tests.data import from_table
from tests.hasty import first, hasty
from tests.loopback import at_length
from tests.unit.network.registry.conftest import CONFIG
from tests.unit.network.registry.registry_server import (
    INDEX,
    MANIFEST,
    Fault,
    Handler,
    Registry,
    digest_of,
    slow,
)

CALM = Limits(pause=0.01, longest_pause=1.0)
QUICK = replace(CALM, silence=0.3)
"""For a server that says nothing; a machine that stands still for a while looks no other."""


def _ask(limits: Limits = CALM, **given: Any) -> Registries:
    return Registries(Settings(limits=limits, **given))


def _failure(registry: Registry, reference: str = "team/app:1", limits: Limits = CALM) -> str:
    whole = f"{registry.host}/{reference}"
    with pytest.raises(RegistryError) as caught:
        _ask(limits).digest(whole)
    prefix = f"failed to fetch image reference: {whole}, error: "
    assert caught.value.message.startswith(prefix)
    return caught.value.message.removeprefix(prefix)


def _manifest(registry: Registry, reference: str = "app/manifests/1") -> tuple[str, bytes]:
    return registry.documents[f"/v2/team/{reference}"]


def test_a_tagged_image_as_context_entries_see_it(registry: Registry) -> None:
    _, manifest = _manifest(registry)
    place = f"{registry.host}/team/app"
    assert _ask().image(f"{place}:1") == {
        "image": f"{place}:1",
        "resolvedImage": f"{place}@{digest_of(manifest)}",
        "registry": registry.host,
        "repository": "team/app",
        "identifier": "1",
        "manifestList": None,
        "manifest": json.loads(manifest),
        "configData": CONFIG,
    }


def test_an_image_by_digest_and_with_a_tag_besides(registry: Registry) -> None:
    digest = digest_of(_manifest(registry)[1])
    place = f"{registry.host}/team/app"
    asked = _ask()
    tagged = asked.image(f"{place}:1@{digest}")
    assert tagged["identifier"] == f"1@{digest}"
    assert tagged["resolvedImage"] == f"{place}@{digest}"
    # The port of the registry stands behind the last colon, and Kyverno takes it for a tag.
    port = registry.host.partition(":")[2]
    assert asked.image(f"{place}@{digest}")["identifier"] == f"{port}/team/app@{digest}"


def test_an_index_gives_the_image_of_linux_amd64(registry: Registry) -> None:
    content = _manifest(registry, "many/manifests/1")[1]
    data = _ask().image(f"{registry.host}/team/many:1")
    assert data["manifestList"] == json.loads(content)
    assert data["configData"]["architecture"] == "amd64"
    assert data["resolvedImage"].endswith(digest_of(content))


def test_cel_sees_the_fields_that_kyverno_knows(registry: Registry) -> None:
    place = f"{registry.host}/team/app"
    digest = digest_of(_manifest(registry)[1])
    data = _ask().descriptor(f"{place}:1")
    assert data["config"] == {
        "architecture": "amd64",
        "created": "2026-01-02T03:04:05.12Z",
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": []},
        "config": {"User": "65532", "Env": ["A=1"]},
    }
    assert (data["tag"], data["digest"]) == ("1", digest)
    assert data["resolvedImage"] == f"{place}:1@{digest}"
    assert "imageIndex" not in data
    assert _ask().descriptor(f"{registry.host}/team/many:1")["imageIndex"]["mediaType"] == INDEX


def test_a_config_of_a_wrong_type_is_an_error_for_cel_alone(registry: Registry) -> None:
    registry.add_image("team/app", "odd", {"architecture": 1})
    asked, reference = _ask(), f"{registry.host}/team/app:odd"
    assert asked.image(reference)["configData"] == {"architecture": 1}
    with pytest.raises(RegistryError, match=r"into Go struct field ConfigFile\.architecture"):
        asked.descriptor(reference)


def test_a_reference_is_asked_for_once_even_if_it_is_not_there(registry: Registry) -> None:
    asked = _ask()
    for _ in range(3):
        asked.image(f"{registry.host}/team/app:1")
        with pytest.raises(RegistryError):
            asked.digest(f"{registry.host}/team/app:no")
    assert len(registry.asked) == 3


def test_an_image_that_is_not_there(registry: Registry) -> None:
    url = f"GET http://{registry.host}/v2/team/app/manifests/no"
    said = f"{url}: MANIFEST_UNKNOWN: manifest unknown"
    assert _failure(registry, "team/app:no") == said
    reference = f"{registry.host}/team/app:no"
    with pytest.raises(RegistryError) as caught:
        _ask().image(reference)
    twice = f"failed to fetch image descriptor: {reference}, error: " * 2
    assert caught.value.message == (
        f"{twice}failed to fetch image reference: {reference}, error: {said}"
    )


def test_what_is_no_reference() -> None:
    with pytest.raises(RegistryError, match=r"^failed to parse image reference: A B, error: could"):
        _ask().digest("A B")


def test_an_index_without_the_platform(registry: Registry) -> None:
    registry.add("team/many", "none", INDEX, {"schemaVersion": 2, "manifests": []})
    reference = f"{registry.host}/team/many:none"
    text = f"no child with platform linux/amd64 in index {reference}"
    with pytest.raises(RegistryError, match=f"failed to resolve image reference.*{text}"):
        _ask().image(reference)


def test_indexes_in_indexes_end(registry: Registry) -> None:
    inner = registry.add("team/many", "", INDEX, {"schemaVersion": 2, "manifests": []})
    for _ in range(3):
        child = {"mediaType": INDEX, "size": 1, "digest": inner}
        inner = registry.add("team/many", "deep", INDEX, {"manifests": [child]})
    with pytest.raises(RegistryError, match="more than 2 indexes are nested"):
        _ask().image(f"{registry.host}/team/many:deep")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 100_000, "the manifest is not JSON"),
        (b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", "the manifest is nested more than 64 deep"),
        (b'{"a": NaN}', "the manifest is not JSON"),
        (b"[]", "the manifest names no config"),
        (b'{"config": {"digest": "md5:1", "size": 1}}', "md5:1 is not a sha256 digest"),
        (
            b'{"config": {"digest": "sha256:%s", "size": 9000000}}' % (b"0" * 64),
            "is larger than 4,194,304 bytes",
        ),
    ],
)
def test_manifests_that_are_none(registry: Registry, content: bytes, said: str) -> None:
    registry.documents["/v2/team/app/manifests/odd"] = (MANIFEST, content)
    with pytest.raises(RegistryError, match=said):
        _ask().image(f"{registry.host}/team/app:odd")


def test_a_registry_that_lies_about_a_manifests_digest(registry: Registry) -> None:
    _, content = _manifest(registry)
    wrong = "sha256:" + "1" * 64
    registry.documents[f"/v2/team/app/manifests/{wrong}"] = (MANIFEST, content)
    assert _failure(registry, f"team/app@{wrong}") == (
        f'manifest digest: "{digest_of(content)}" does not match requested digest: "{wrong}" for '
        f'"{registry.host}/team/app@{wrong}"'
    )
    registry.announced = wrong
    assert f"is announced as {wrong}, and its digest is" in _failure(registry)


def test_a_registry_that_lies_about_a_configs_digest(registry: Registry) -> None:
    digest = json.loads(_manifest(registry)[1])["config"]["digest"]
    path = f"/v2/team/app/blobs/{digest}"
    media_type, content = registry.documents[path]
    registry.documents[path] = (media_type, content.replace(b"65532", b"00000"))
    with pytest.raises(RegistryError, match=r"failed to fetch config for .*checksum"):
        _ask().image(f"{registry.host}/team/app:1")
    registry.documents[path] = (media_type, content + b" ")
    with pytest.raises(RegistryError, match="does not match expected size"):
        _ask().image(f"{registry.host}/team/app:1")


def _trickle(handler: Handler) -> bool:
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
    while not handler.stop.wait(0.05):
        handler.wfile.write(b"x")
    return True


def _cut(handler: Handler) -> bool:
    handler.answer(200, b"{", Content_Length="100")
    handler.close_connection = True
    return True


def _busy(handler: Handler) -> bool:
    handler.fail(429, "TOOMANYREQUESTS", "later", Retry_After="0")
    return True


def _closed_for_today(handler: Handler) -> bool:
    handler.fail(429, "TOOMANYREQUESTS", "tomorrow", Retry_After="86400")
    return True


def _broken(handler: Handler) -> bool:
    handler.answer(503, b"<html>\x1b[31m gone")
    return True


def _large(handler: Handler) -> bool:
    handler.answer(200, b"", Content_Length=str(5_000_000))
    return True


def _endless(handler: Handler) -> bool:
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + b" " * 5_000_000)
    return True


def _fine(_handler: Handler) -> bool:
    return False


@pytest.mark.parametrize("fault", [slow, _cut, _busy, _broken])
def test_another_attempt_helps(
    registry: Registry, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty(monkeypatch, first(registry.asked))
    registry.faults["/v2/team/app/manifests/1"] = [fault, _fine]
    found = _ask(QUICK).digest(f"{registry.host}/team/app:1")
    assert found == digest_of(_manifest(registry)[1])
    assert len(registry.asked) == 2


@pytest.mark.parametrize(
    ("fault", "attempts", "said"),
    [
        (slow, 3, "the server sent nothing for 0.3 seconds, in 3 attempts"),
        (_trickle, 3, "no answer within 0.6 seconds, in 3 attempts"),
        (_cut, 3, "the server cut the answer, in 3 attempts"),
        (_busy, 3, "TOOMANYREQUESTS: later"),
        (_closed_for_today, 1, "TOOMANYREQUESTS: tomorrow"),
        (_broken, 3, "unexpected status code 503 Service Unavailable: <html>�[31m gone"),
        (_large, 1, "the answer is larger than 4,194,304 bytes"),
        (_endless, 1, "the answer is larger than 4,194,304 bytes"),
    ],
)
def test_what_a_server_may_do_instead(
    registry: Registry, fault: Fault, attempts: int, said: str
) -> None:
    registry.faults["/v2/team/app/manifests/1"] = [fault]
    url = f"GET http://{registry.host}/v2/team/app/manifests/1"
    limits = CALM
    if fault is slow:
        limits = QUICK
    elif fault is _trickle:
        limits = replace(CALM, patience=0.6)
    assert _failure(registry, limits=limits) == f"{url}: {said}"
    assert at_length(lambda: len(registry.asked) >= attempts)
    assert len(registry.asked) == attempts


def test_who_is_silent_is_not_asked_again(registry: Registry) -> None:
    for tag in ("1", "2"):
        registry.faults[f"/v2/team/app/manifests/{tag}"] = [slow]
    asked = _ask(QUICK)
    for tag in ("1", "2"):
        with pytest.raises(RegistryError, match="in 3 attempts"):
            asked.digest(f"{registry.host}/team/app:{tag}")
    assert at_length(lambda: len(registry.asked) >= 3)
    assert len(registry.asked) == 3


@from_table("target", "said")
def test_redirects_that_are_not_followed(registry: Registry, target: str, said: str) -> None:
    def away(handler: Handler) -> bool:
        handler.answer(307, b"", Location=target)
        return True

    registry.faults["/v2/team/app/manifests/1"] = [away]
    assert said in _failure(registry)


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "a..b"])
def test_hosts_that_cannot_be(host: str) -> None:
    with pytest.raises(RegistryError, match=r"cannot be requested$"):
        _ask().digest(f"{host}/team/app:1")


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[fd00:ec2::254]"])
def test_addresses_that_are_never_asked(host: str) -> None:
    with pytest.raises(RegistryError, match="chartkit does not connect to this address"):
        _ask().digest(f"{host}:80/team/app:1")


def test_a_name_that_leads_to_such_an_address_is_told_nothing(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chartkit.network.http.connections.is_forbidden", lambda _address: True)
    port = registry.host.partition(":")[2]
    with pytest.raises(RegistryError, match="chartkit does not connect to this address"):
        _ask().digest(f"localhost:{port}/team/app:1")
    assert registry.asked == []


def test_documents_are_kept_by_digest(registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    reference = f"{registry.host}/team/app@{digest_of(_manifest(registry)[1])}"
    first = _ask(cache=folder).image(reference)
    asked = len(registry.asked)
    assert _ask(cache=folder).image(reference) == first
    assert len(registry.asked) == asked
    for file in folder.glob("*/*"):
        file.write_bytes(b"{}")
    assert _ask(cache=folder).image(reference) == first
    assert len(registry.asked) == asked * 2


def test_a_mirror_is_asked_in_a_registrys_place(registry: Registry) -> None:
    asked = _ask(mirrors={"index.docker.io": registry.host})
    registry.add_image("library/nginx", "1.27", CONFIG)
    data = asked.image("nginx:1.27")
    assert data["registry"] == "index.docker.io"
    assert data["resolvedImage"].startswith("index.docker.io/library/nginx@sha256:")
