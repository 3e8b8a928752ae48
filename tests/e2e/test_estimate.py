"""Estimates of files and recordings, and their errors."""

import json
from pathlib import Path

from tests.data import beside, from_table
from tests.e2e.command import chartkit
from tests.files import write_files

POLICY = beside(__file__)["policy"]
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec: {containers: [{name: a, image: a}]}
"""


def test_policies_that_are_named_count_with_the_defaults_of_kyverno(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "pod.yaml").write_text(POD)
    done = chartkit(tmp_path, "estimate", "pod.yaml", "-p", "p.yaml", "-o", "json")
    body = json.loads(done.out)
    assert done.code == 0
    assert body["reviews"] == {"CREATE": 1, "UPDATE": 1, "DELETE": 0, "aDay": 0}
    assert body["reports"]["count"] == 1
    assert body["settings"]["known"] is False
    assert body["memory"]["basis"] == "extrapolated from 1,284 reports, fewer were not measured"


def test_a_recording_is_counted_without_the_cluster(tmp_path: Path) -> None:
    from tools.fuzz_scenarios import RECORDING

    (tmp_path / "p.yaml").write_text(POLICY)
    write_files(tmp_path, RECORDING)
    done = chartkit(tmp_path, "estimate", "rec", "-p", "p.yaml", "-o", "json")
    body = json.loads(done.out)
    assert done.code in (0, 1), done.err
    assert body["objects"] == sum(each["objects"] for each in body["kinds"])
    assert {each["kind"] for each in body["kinds"]} == {"Pod"}


@from_table("arguments", "message")
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    done = chartkit(tmp_path, "estimate", *arguments)
    assert done.code == 2
    assert message in done.err
