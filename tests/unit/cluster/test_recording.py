"""What was read of a cluster, in a folder: the same scan without the cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.cluster.cleaning import LAST_APPLIED
from chartkit.model import Body
from tests.api_server import Request
from tests.e2e.command import snapshot
from tests.unit.cluster.conftest import World
from tests.unit.cluster.server import forbidden, labelled, namespace, pod, policy

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
    assert err.startswith("mine: is no recording, and stays as it is (name a folder")
    assert snapshot(Path("mine")) == {"note": b"x"}


def test_only_the_user_reads_a_recording(world: World) -> None:
    world.scan("--cluster", "--record", "rec", *world.policies(labelled()))
    assert Path("rec").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("recording.json", "{", "recording.json: is not JSON"),
        ("recording.json", "[]", "recording.json: must be a JSON object"),
        ("recording.json", '{"format": 7}', "rec: is a recording of another format"),
        (
            "recording.json",
            '{"format": 1, "answers": {"/apis": "../../etc/passwd"}}',
            "recording.json: names no file of a recording",
        ),
        ("000001.json", "{}", "000001.json: is no recorded answer"),
        ("000001.json", None, "000001.json: cannot be read: No such file"),
    ],
)
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
