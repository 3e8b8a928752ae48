"""What was read of a cluster and its services, in a folder: the same scan without them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.engine.ports.services import (
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
)
from chartkit.engine.ports.world import ServiceSource
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.cluster.cleaning import LAST_APPLIED
from chartkit.network.cluster.recording import INDEX, RecordedSource, recorder, services_of
from chartkit.network.cluster.source import SourceError
from tests.api_server import Refused, Request
from tests.data import from_table
from tests.e2e.command import snapshot
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import forbidden, labelled, namespace, pod, policy
from tests.unit.network.services.service import serving

WORD = "aHVzaA=="


def _secret() -> Body:
    copied = {LAST_APPLIED: json.dumps({"data": {"password": WORD}}), "kept": "yes"}
    metadata = {"name": "s", "namespace": "shop", "annotations": copied}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": WORD}}


def _asking() -> Body:
    """A policy with a call, a ConfigMap and a namespace selector."""
    context = [
        {"name": "n", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets"}},
        {"name": "one", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/s"}},
    ]
    key = "{{ n.items | length(@) }} {{ one.metadata.annotations.kept }}"
    condition = {"key": key, "operator": "NotEquals", "value": "1 yes"}
    deny = {"message": "none", "deny": {"conditions": {"any": [condition]}}}
    return policy("asks", ["Pod"], {"context": context, "validate": deny})


def test_the_same_scan_without_the_cluster(
    world: World, small_pages: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(2)
    fields = [{"manager": "kubectl-edit"}]
    world.server.add(_secret(), *(pod(f"p{n}", managedFields=fields) for n in range(5)))

    def refuse(request: Request) -> None:
        if request.path.endswith("/cronjobs"):
            raise forbidden("cronjobs")

    world.server.before = refuse
    named = world.policies(labelled("one", "Pod", "Secret"), _asking())
    live = world.scan("--cluster", "--record", "rec", *named)
    assert "not read: cronjobs.batch: forbidden (403)" in live[2]
    world.server.requests.clear()
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert world.scan("rec", *named) == live
    assert world.server.requests == []
    text = "".join(file.read_text() for file in Path("rec").iterdir())
    assert "kept" in text
    assert '"password": ""' in text
    for word in (WORD, LAST_APPLIED, "kubectl-edit", "managedFields"):
        assert word not in text


def test_what_was_deleted_while_a_list_was_read_again(
    world: World, small_pages: Callable[[int], None]
) -> None:
    small_pages(2)
    world.server.add(*(pod(f"p{index}") for index in range(5)))
    expired: list[str] = []

    def cut(request: Request, page: Body) -> Body:
        if request.query.get("continue") and not expired:
            expired.append(request.path)
            world.server.put("/api/v1/namespaces/shop/pods/p0", None)
            world.server.add()
            raise Refused(410, "Expired", "too old")
        return page

    world.server.cut = cut
    named = world.policies(labelled())
    live = world.scan("--cluster", "--record", "rec", *named)
    assert "Pod/shop/p0" in live[1]
    assert "fail: 5," in live[1]
    assert world.scan("rec", *named) == live


def test_a_namespace_is_kept(world: World) -> None:
    world.server.add(pod("a"), pod("c", "kube-system"))
    named = world.policies(labelled())
    live = world.scan("--cluster", "-n", "shop", "--record", "rec", *named)
    assert world.scan("rec", *named) == live


def test_a_policy_that_asks_for_more_than_was_recorded(world: World) -> None:
    world.server.add(namespace("more", team="x"))
    world.scan("--cluster", "--record", "rec", *world.policies(labelled("one", "Namespace")))
    code, _, err = world.scan("rec", *world.policies(labelled("one", "ConfigMap")))
    assert (code, err) == (1, "not read: configmaps: was not recorded\n")


def _calling(url: str, *names: str) -> Body:
    """A policy that calls a service with the password of a Secret, and one with none."""
    secret = {"name": "s", "apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/s"}}
    password = "{{ s.data.password | base64_decode(@) }}"
    call = {"url": url, "headers": [{"key": "Authorization", "value": password}]}
    context = [secret, {"name": "got", "apiCall": {"service": call}}]
    condition = {"key": "{{ got.said }}", "operator": "NotEquals", "value": "never"}
    deny = {"message": "{{ got.said }}", "deny": {"conditions": {"any": [condition]}}}
    return policy("calls", names or ["Pod"], {"context": context, "validate": deny})


def test_calls_of_services(world: World) -> None:
    with serving() as service:
        service.answers["/ok"] = (200, b'{"said": "hello hush"}')
        service.answers["/gone"] = (404, b"hush is gone")
        world.server.add(_secret(), pod("a"), namespace("x"))
        named = world.policies(
            _calling(service.url("/ok?key=hush")),
            _calling(service.url("/gone"), "Namespace"),
            _calling("http://elsewhere/", "Secret"),
        )
        allowed = ("--allow-network", service.place, "--detailed")
        live = world.scan("--cluster", "--record", "rec", *named, *allowed)
        asked = len(service.asked)
        assert asked == 2
        again = world.scan("rec", *named, "--detailed")
        assert len(service.asked) == asked
        other = world.policies(_calling(service.url("/other")))
        assert '/other" was not recorded' in world.scan("rec", *other)[1]
        service.answers["/other"] = (200, b'{"said": "another"}')
        assert "another" in world.scan("rec", *other, *allowed)[1]
    assert "HTTP 404 Not Found: *** is gone" in live[1]
    assert "elsewhere:80 is not asked: " in live[1]
    # The answer repeats what was sent to be let in, and that is not kept.
    assert again == (live[0], live[1].replace("hello hush", "hello ***"), live[2])
    text = "".join(file.read_text() for file in Path("rec").iterdir())
    assert "hello ***" in text
    assert "hush" not in text


def test_a_recording_takes_the_place_of_another(world: World) -> None:
    named = world.policies(labelled())
    world.scan("--cluster", "--record", "rec", *named)
    before = snapshot(Path("rec"))
    world.server.add(pod("a"))
    world.scan("--cluster", "--record", "rec", *named)
    assert snapshot(Path("rec")) != before
    assert not list(world.folder.glob(".rec*"))


def test_nothing_else_is_written_over(world: World) -> None:
    (world.folder / "mine").mkdir()
    (world.folder / "mine" / "note").write_text("x")
    code, _, err = world.scan("--cluster", "--record", "mine", *world.policies(labelled()))
    assert (code, world.server.requests) == (2, [])
    assert err.startswith("mine: exists and is not a recording (name a folder")
    assert snapshot(Path("mine")) == {"note": b"x"}


def test_only_the_user_reads_a_recording(world: World) -> None:
    world.scan("--cluster", "--record", "rec", *world.policies(labelled()))
    assert Path("rec").stat().st_mode & 0o077 == 0


@from_table("file", "text", "said")
def test_a_recording_that_is_broken(world: World, file: str, text: str | None, said: str) -> None:
    named = world.policies(labelled())
    world.scan("--cluster", "--record", "rec", *named)
    place = Path("rec") / file
    place.unlink()
    if text is not None:
        place.write_text(text)
    code, out, err = world.scan("rec", *named)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert said in err


def test_a_recording_is_no_live_cluster(world: World) -> None:
    named = world.policies(labelled())
    world.scan("--cluster", "--record", "rec", *named)
    assert world.scan("rec", "--record", "other", *named)[0] == 2
    assert world.scan("rec", "rec", *named)[0] == 2


WRONG: tuple[Any, ...] = (
    None,
    1,
    1.5,
    True,
    [],
    ["a"],
    [None],
    {},
    {"a": "b"},
    "",
    "é/../\ud800\n",
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def test_recorded_answers_with_a_value_of_another_type(world: World) -> None:
    """Wherever it is, names among it, the scan says what it did not read, or reads it so."""
    asking, meant = _asking(), labelled("one", "Pod", "Namespace")
    named = world.policies(meant, asking)
    world.server.add(pod("a"))
    world.scan("--cluster", "--record", "rec", *named)
    changed = 0
    for file in sorted(Path("rec").glob("0*.json")):
        text = file.read_text()
        answer = json.loads(text)
        if not answer["path"].startswith(("/api/v1/pods", "/api/v1/namespaces?")):
            continue
        for holder, key in list(_places(answer))[:25]:
            before = holder[key]
            wrong = WRONG[changed % len(WRONG)]
            changed += 1
            holder[key] = wrong
            file.write_text(json.dumps(answer))
            holder[key] = before
            code, _, err = world.scan("rec", *named)
            assert code in (0, 1, 2), (file, key, wrong, err)
        file.write_text(text)
    assert changed > 30


@pytest.mark.parametrize("wrong", [1, 1.5, True, ["a"], {"a": "b"}])
@pytest.mark.parametrize("field", ["name", "namespace"])
def test_recorded_objects_whose_name_is_no_text(world: World, field: str, wrong: Any) -> None:
    named = world.policies(labelled())
    world.server.add(pod("a"))
    world.scan("--cluster", "--record", "rec", *named)
    for file in Path("rec").glob("0*.json"):
        answer = json.loads(file.read_text())
        if answer["path"].startswith("/api/v1/pods"):
            answer["body"]["items"][0]["metadata"][field] = wrong
            file.write_text(json.dumps(answer))
    code, _, err = world.scan("rec", *named)
    assert (code, err) == (
        1,
        "not read: pods: the response lists something that is not an object\n",
    )


GET = ServiceCall("GET", "http://me:secret@prices/eu?token=secret", (("Key", "secret"),))
POST = ServiceCall("POST", "http://checks/", (), b'{"word": "posted"}')


class _Cluster:
    """A server that nobody asks."""

    fault = None

    def get(self, path: str, /) -> Body:
        raise AssertionError(path)


class _Services:
    """Answers from a table, or raises what stands there."""

    def __init__(self, answers: dict[ServiceCall, ServiceAnswer | LookupFailed]) -> None:
        self._answers = answers

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        answer = self._answers[call]
        if isinstance(answer, LookupFailed):
            raise answer
        return answer


def _record(folder: Path, answers: dict[ServiceCall, ServiceAnswer | LookupFailed]) -> None:
    with recorder(_Cluster(), folder, "") as writer:
        services = services_of(writer, _Services(answers))
        assert services is not None
        for call in (*answers, *answers):
            try:
                services.ask(call)
            except LookupFailed:
                continue


def _recorded(folder: Path, beside: ServiceSource | None = None) -> ServiceSource:
    services = services_of(RecordedSource(folder), beside)
    assert services is not None
    return services


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rec"


@pytest.mark.parametrize(
    "answer",
    [
        ServiceAnswer(200, "OK", b'{"a": "\xc3\xa9"}'),
        ServiceAnswer(503, "", b"\xff\x00", Ending.CUT),
        ServiceAnswer(200, "OK", b"", Ending.TOO_LARGE),
    ],
)
def test_answers_come_again(folder: Path, answer: ServiceAnswer) -> None:
    _record(folder, {POST: answer})
    assert _recorded(folder).ask(POST) == answer
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "error",
    [
        LookupFailed("nobody there"),
        BadUrlError("no URL"),
        NotAllowedError("not named", hint="name it"),
    ],
)
def test_errors_come_again(folder: Path, error: LookupFailed) -> None:
    _record(folder, {GET: error})
    with pytest.raises(LookupFailed) as raised:
        _recorded(folder).ask(GET)
    assert type(raised.value) is type(error)
    assert str(raised.value) == str(error)


def test_calls_that_are_made_again_are_others(folder: Path) -> None:
    one, other = ServiceAnswer(500, "", b""), ServiceAnswer(200, "OK", b"1")
    again = replace(GET, tries=3)
    _record(folder, {GET: one, again: other})
    recorded = _recorded(folder)
    assert recorded.ask(GET) == one
    assert recorded.ask(again) == other


def test_recordings_that_do_not_know_how_often_a_call_is_made(folder: Path) -> None:
    one = ServiceAnswer(200, "OK", b"1")
    _record(folder, {GET: one})
    assert _recorded(folder).ask(replace(GET, tries=3)) == one


def test_what_is_not_kept(folder: Path) -> None:
    _record(folder, {GET: ServiceAnswer(200, "OK", b"you said secret"), POST: LookupFailed("x")})
    text = "".join(file.read_text() for file in folder.iterdir())
    assert "secret" not in text
    assert "posted" not in text
    assert _recorded(folder).ask(GET).body == b"you said ***"


def test_other_headers(folder: Path) -> None:
    """They may come of a Secret, of which nothing is kept; several cannot be told apart then."""
    one, other, third = (replace(GET, headers=(("Key", key),)) for key in ("", "a", "b"))
    answers = {one: ServiceAnswer(200, "", b"1"), other: ServiceAnswer(200, "", b"2")}
    _record(folder, {one: answers[one]})
    assert _recorded(folder).ask(third).body == b"1"
    _record(folder, {**answers})
    assert [_recorded(folder).ask(call).body for call in answers] == [b"1", b"2"]
    with pytest.raises(NotAllowedError, match='GET "http://prices/eu" was not recorded'):
        _recorded(folder).ask(third)


def test_what_was_not_recorded_is_asked_where_that_is_allowed(folder: Path) -> None:
    _record(folder, {GET: ServiceAnswer(200, "", b"1")})
    answer = ServiceAnswer(200, "", b"2")
    assert _recorded(folder, _Services({POST: answer})).ask(POST) == answer
    with pytest.raises(NotAllowedError, match='POST "http://checks/" was not recorded'):
        _recorded(folder).ask(replace(POST, body=b"{}"))


def test_a_recording_without_calls(folder: Path) -> None:
    _record(folder, {})
    assert services_of(RecordedSource(folder), None) is None
    assert "salt" not in json.loads((folder / INDEX).read_text())


@from_table("entry")
def test_entries_that_are_broken(folder: Path, entry: Body) -> None:
    _record(folder, {GET: ServiceAnswer(200, "", b"1")})
    (folder / "000001.json").write_text(json.dumps(entry))
    with pytest.raises(LookupFailed, match=r"the recorded answer cannot be read \(record it"):
        _recorded(folder).ask(GET)


def test_an_index_that_leads_elsewhere(folder: Path) -> None:
    _record(folder, {GET: ServiceAnswer(200, "", b"1")})
    index = (folder / INDEX).read_text().replace("000001.json", "../../etc/passwd")
    (folder / INDEX).write_text(index)
    with pytest.raises(SourceError, match="does not name a file of a recording"):
        _recorded(folder).ask(GET)
