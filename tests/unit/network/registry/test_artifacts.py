"""What lies beside images: found, checked, and refused."""

import base64
import json
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.network.registry.artifacts import Artifacts, NoReferenceError, parse_repository
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import (
    Limits,
    MissingError,
    RegistryError,
    Settings,
    read_settings,
)
from tests.data import from_table
from tests.loopback import at_length
from tests.unit.network.registry.registry_server import (
    INDEX,
    MANIFEST,
    Fault,
    Handler,
    Registry,
    cut,
    digest_of,
    serving,
)

CALM = Limits(pause=0.01, longest_pause=1.0)
KIND = "application/vnd.example.signature"


def _artifacts(limits: Limits = CALM) -> Artifacts:
    return Registries(Settings(limits=limits)).artifacts(NOBODY_ELSE)


def _subject(registry: Registry) -> str:
    return digest_of(registry.documents["/v2/team/app/manifests/1"][1])


@pytest.mark.parametrize("has_referrers", [True, False])
def test_what_refers_to_an_image(registry: Registry, has_referrers: bool) -> None:
    registry.has_referrers = has_referrers
    layer = registry.add_blob("team/app", b"a signature", "text/plain")
    made = registry.add_artifact("team/app", _subject(registry), KIND, [layer], {"a": "b"})
    asked = _artifacts()
    found = asked.resolve(f"{registry.host}/team/app:1")
    assert found.document.digest == _subject(registry)
    (one,) = asked.referrers(found.reference, found.document.digest)
    assert (one["digest"], one["artifactType"], one["annotations"]) == (made, KIND, {"a": "b"})
    manifest = asked.manifest(found.reference, made)
    assert manifest.digest == made
    assert asked.blob(found.reference, layer["digest"], layer["size"], 100) == b"a signature"


@pytest.mark.parametrize("has_referrers", [True, False])
def test_nothing_refers_to_an_image(registry: Registry, has_referrers: bool) -> None:
    registry.has_referrers = has_referrers
    asked = _artifacts()
    found = asked.resolve(f"{registry.host}/team/app:1")
    for _ in range(2):
        assert asked.referrers(found.reference, found.document.digest) == ()
    assert len(registry.asked) == (2 if has_referrers else 3)


def test_what_is_not_there_and_what_is_not_said(registry: Registry) -> None:
    asked = _artifacts()
    place = parse_repository(f"{registry.host}/team/app")
    with pytest.raises(MissingError, match="MANIFEST_UNKNOWN") as caught:
        asked.manifest(place, "sha256-none.sig")
    assert not caught.value.unanswered

    def denied(handler: Handler) -> bool:
        handler.fail(403, "DENIED", "not yours")
        return True

    registry.faults["/v2/team/app/manifests/2"] = [denied]
    with pytest.raises(RegistryError, match="DENIED: not yours") as said:
        asked.manifest(place, "2")
    assert not isinstance(said.value, MissingError)
    assert not said.value.unanswered
    nobody = parse_repository("127.0.0.1:1/team/app")
    with pytest.raises(RegistryError, match="cannot be reached") as unreached:
        asked.manifest(nobody, "1")
    assert unreached.value.unanswered


def test_repositories_as_policies_name_them() -> None:
    found = parse_repository("ghcr.io:443/team/signatures")
    assert (found.registry, found.repository) == ("ghcr.io:443", "team/signatures")
    assert parse_repository("nginx").repository == "library/nginx"


@from_table("text", "said")
def test_what_is_no_repository(text: str, said: str) -> None:
    with pytest.raises(NoReferenceError, match=f"^{said}$"):
        parse_repository(text)


def _trickle(handler: Handler) -> bool:
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not handler.stop.wait(0.05):
        handler.wfile.write(b" ")
    return True


def _huge(handler: Handler) -> bool:
    handler.answer(200, b"", Content_Length=str(10**18))
    return True


def _immense(handler: Handler) -> bool:
    handler.answer(200, b"", Content_Length="9" * 5000)
    return True


def _endless(handler: Handler) -> bool:
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + b" " * 5_000_000)
    return True


@pytest.mark.parametrize(
    ("fault", "attempts", "said"),
    [
        (_trickle, 2, "(no answer within 0.5 seconds|the answer does not end), in 2 attempts"),
        (cut, 2, "the server cut the answer, in 2 attempts"),
        (_huge, 1, "the answer is larger than 4,194,304 bytes"),
        (_immense, 1, "the answer is larger than 4,194,304 bytes"),
        (_endless, 1, "the answer is larger than 4,194,304 bytes"),
    ],
)
@pytest.mark.parametrize("kind", ["manifests", "referrers"])
def test_documents_that_do_not_come(
    registry: Registry, kind: str, fault: Fault, attempts: int, said: str
) -> None:
    limits = Limits(pause=0.01, attempts=2)
    asked = _artifacts(replace(limits, patience=0.5) if fault is _trickle else limits)
    place, digest = parse_repository(f"{registry.host}/team/app"), _subject(registry)
    registry.faults[f"/v2/team/app/{kind}/{digest}"] = [fault]
    ask = asked.manifest if kind == "manifests" else asked.referrers
    url = f"GET http://{registry.host}/v2/team/app/{kind}/{digest}"
    for _ in range(2):
        with pytest.raises(RegistryError, match=f"^{url}: {said}$"):
            ask(place, digest)
    assert at_length(lambda: len(registry.asked) >= attempts)
    assert len(registry.asked) == attempts


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (_trickle, "Content-Length header 1000000 does not match expected size 11$"),
        (_huge, f"Content-Length header {10**18} does not match expected size 11$"),
        (cut, "the server cut the answer, in 2 attempts$"),
        (_endless, "the answer is larger than 100 bytes$"),
    ],
)
def test_blobs_that_do_not_come(registry: Registry, fault: Fault, said: str) -> None:
    asked = _artifacts(Limits(pause=0.01, attempts=2))
    blob = registry.add_blob("team/app", b"a signature")
    registry.faults[f"/v2/team/app/blobs/{blob['digest']}"] = [fault]
    with pytest.raises(RegistryError, match=said):
        asked.blob(parse_repository(f"{registry.host}/team/app"), blob["digest"], 11, 100)
    assert len(registry.asked) == (2 if fault is cut else 1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"A SIGNATURE", "error verifying sha256 checksum after reading 11 bytes; got .*, want "),
        (b"a longer signature", "Content-Length header 18 does not match expected size 11"),
    ],
)
def test_blobs_that_are_not_what_was_asked_for(
    registry: Registry, content: bytes, said: str
) -> None:
    blob = registry.add_blob("team/app", b"a signature")
    path = f"/v2/team/app/blobs/{blob['digest']}"
    registry.documents[path] = ("text/plain", content)
    with pytest.raises(RegistryError, match=said) as caught:
        _artifacts().blob(parse_repository(f"{registry.host}/team/app"), blob["digest"], 11, 100)
    assert not caught.value.unanswered


def test_blobs_that_nobody_asks_for(registry: Registry) -> None:
    asked, place = _artifacts(), parse_repository(f"{registry.host}/team/app")
    with pytest.raises(RegistryError, match="is larger than 100 bytes"):
        asked.blob(place, f"sha256:{'0' * 64}", 101, 100)
    with pytest.raises(RegistryError, match=r"^md5:1 is not a sha256 digest$"):
        asked.blob(place, "md5:1", 1, 100)
    with pytest.raises(RegistryError, match="a sha256 digest alone"):
        asked.referrers(place, "../../other/manifests/1")
    for identifier in ("..", "a/../b", "md5:1", "", "a b", "x" * 129):
        with pytest.raises(RegistryError, match=r'" is neither a tag nor a sha256 digest$'):
            asked.manifest(place, identifier)
    assert registry.asked == []


def test_a_list_of_referrers_that_lies(registry: Registry) -> None:
    subject, place = _subject(registry), parse_repository(f"{registry.host}/team/app")
    made = registry.add_artifact("team/app", subject, KIND, [])
    wrong = f"sha256:{'1' * 64}"
    path = "/v2/team/app/manifests/"
    registry.documents[path + wrong] = registry.documents[path + made]
    registry.list_referrers("team/app", subject, [{"digest": wrong, "size": 1}])
    asked = _artifacts()
    (listed,) = asked.referrers(place, subject)
    with pytest.raises(RegistryError, match=f'"{made}" does not match requested digest: "{wrong}"'):
        asked.manifest(place, listed["digest"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no descriptors"),
        ('{"manifests": {}}', "holds no descriptors"),
        ('{"manifests": [1]}', "holds no descriptors"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"a":' + "[" * 70 + "]" * 70 + "}", "is nested more than 64 deep"),
    ],
)
@pytest.mark.parametrize("has_referrers", [True, False])
def test_lists_of_referrers_that_are_none(
    registry: Registry, has_referrers: bool, content: str, said: str
) -> None:
    registry.has_referrers = has_referrers
    subject = _subject(registry)
    registry.list_referrers("team/app", subject, [])
    name = f"referrers/{subject}" if has_referrers else f"manifests/{subject.replace(':', '-')}"
    registry.documents[f"/v2/team/app/{name}"] = (INDEX, content.encode())
    with pytest.raises(RegistryError, match=f"^the list of what refers to {subject} {said}"):
        _artifacts().referrers(parse_repository(f"{registry.host}/team/app"), subject)


@from_table("digest", "said")
def test_digests_that_are_none(registry: Registry, digest: str | None, said: str) -> None:
    subject = _subject(registry)
    registry.list_referrers("team/app", subject, [{"digest": digest}])
    with pytest.raises(RegistryError, match=f"^{said}$"):
        _artifacts().referrers(parse_repository(f"{registry.host}/team/app"), subject)


@pytest.mark.parametrize("status", [400, 404, 406])
def test_registries_that_keep_no_list(registry: Registry, status: int) -> None:
    subject = _subject(registry)
    registry.has_referrers = False
    made = registry.add_artifact("team/app", subject, KIND, [])

    def refuses(handler: Handler) -> bool:
        handler.fail(status, "UNSUPPORTED", "no such thing")
        return True

    registry.faults[f"/v2/team/app/referrers/{subject}"] = [refuses]
    (one,) = _artifacts().referrers(parse_repository(f"{registry.host}/team/app"), subject)
    assert one["digest"] == made


@pytest.mark.parametrize("media_type", ["text/html", f"{INDEX}; charset=utf-8"])
def test_a_list_of_another_media_type_is_none(registry: Registry, media_type: str) -> None:
    def page(handler: Handler) -> bool:
        handler.answer(200, b"<html>", Content_Type=media_type)
        return True

    registry.faults[f"/v2/team/app/referrers/{_subject(registry)}"] = [page]
    place = parse_repository(f"{registry.host}/team/app")
    assert _artifacts().referrers(place, _subject(registry)) == ()


def test_a_list_that_is_refused_is_no_empty_list(registry: Registry) -> None:
    def denied(handler: Handler) -> bool:
        handler.fail(403, "DENIED", "not yours")
        return True

    subject = _subject(registry)
    place = parse_repository(f"{registry.host}/team/app")
    registry.faults[f"/v2/team/app/referrers/{subject}"] = [denied]
    with pytest.raises(RegistryError, match=rf"referrers/{subject}: DENIED: not yours$"):
        _artifacts().referrers(place, subject)


def test_ten_thousand_referrers(registry: Registry) -> None:
    subject = _subject(registry)
    digests = [digest_of(str(number).encode()) for number in range(10_000)]
    listed = [{"mediaType": MANIFEST, "size": 1, "digest": digest} for digest in digests]
    registry.list_referrers("team/app", subject, listed)
    found = _artifacts().referrers(parse_repository(f"{registry.host}/team/app"), subject)
    assert [one["digest"] for one in found] == digests


def test_the_first_page_is_all_that_is_read(registry: Registry) -> None:
    """As by Kyverno, which follows no link: neither to a next page nor to the same one."""
    subject = _subject(registry)
    made = [registry.add_artifact("team/app", subject, f"{KIND}.{number}", []) for number in (1, 2)]
    registry.page = 1
    place = parse_repository(f"{registry.host}/team/app")
    assert [one["digest"] for one in _artifacts().referrers(place, subject)] == made[:1]
    path = f"/v2/team/app/referrers/{subject}"
    content = registry.documents[path][1]

    def loops(handler: Handler) -> bool:
        link = f'<{path}>; rel="next"'
        handler.answer(200, content, Content_Type=INDEX, Link=link)
        return True

    registry.faults[path] = [loops]
    assert [one["digest"] for one in _artifacts().referrers(place, subject)] == made
    assert len(registry.asked) == 2


def test_a_blob_at_another_host_is_fetched_as_nobody(
    registry: Registry, certificate: Path, docker_config: Path
) -> None:
    registry.password = "battery staple"
    login = base64.b64encode(b"who:battery staple").decode()
    docker_config.write_text(json.dumps({"auths": {registry.host: {"auth": login}}}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as store:
        blob = store.add_blob("team/app", b"a signature")
        path = f"/v2/team/app/blobs/{blob['digest']}"

        def away(handler: Handler) -> bool:
            if not handler.headers.get("Authorization"):
                return False
            handler.answer(307, b"", Location=f"https://{store.host}{path}?signed=secret-words")
            return True

        registry.faults[path] = [away]
        registries = Registries(read_settings(authorities=certificate))
        asked, place = (
            registries.artifacts(NOBODY_ELSE),
            parse_repository(f"{registry.host}/team/app"),
        )
        assert asked.blob(place, blob["digest"], 11, 100) == b"a signature"
        assert (registry.sent[-1], store.sent) == (f"Basic {login}", [""])
        store.documents[path] = ("", b"A SIGNATURE")
        with pytest.raises(RegistryError, match="error verifying sha256 checksum") as caught:
            Registries(read_settings(authorities=certificate)).artifacts(NOBODY_ELSE).blob(
                place, blob["digest"], 11, 100
            )
        assert "secret-words" not in str(caught.value)


def test_what_was_asked_for_long_ago_is_asked_for_again(registry: Registry) -> None:
    asked = _artifacts(Limits(pause=0.01, held=1000))
    place = parse_repository(f"{registry.host}/team/app")
    blobs = [registry.add_blob("team/app", bytes([letter]) * 400) for letter in b"abc"]
    for number in (0, 1, 0, 2, 0, 1):
        blob = blobs[number]
        assert asked.blob(place, blob["digest"], 400, 1000)[:1] == b"abc"[number : number + 1]
    digests = [path.rpartition("/")[2] for path in registry.asked]
    assert digests == [blobs[number]["digest"] for number in (0, 1, 2, 1)]


def test_connections_are_kept() -> None:
    with serving(version="1.1") as registry:
        registry.bearer = True
        digest = registry.add_image("team/app", "1", {"os": "linux"})
        for number in range(5):
            registry.add_artifact("team/app", digest, f"{KIND}.{number}", [])
        asked = Registries(Settings(limits=CALM))
        asked.image(f"{registry.host}/team/app:1")
        artifacts = asked.artifacts(NOBODY_ELSE)
        place = artifacts.resolve(f"{registry.host}/team/app:1").reference
        for one in artifacts.referrers(place, digest):
            artifacts.manifest(place, one["digest"])
        assert len(registry.asked) == 3 + 1 + 1 + 5
        assert registry.connections == 1
