"""`chartkit why` about objects of files and of a cluster, by the policies that are installed."""

import json
from pathlib import Path

import pytest

from chartkit.cli.main import main
from tests.data import from_table
from tests.e2e.test_scan_policies_from import server as cluster  # noqa: F401 - a fixture
from tests.unit.network.cluster.server import PagedServer, pod

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["why", *arguments])
    out, err = capsys.readouterr()
    assert ended.value.code == code, err
    return out if code == 0 else err


def results(text: str) -> dict[str, str]:
    (one,) = json.loads(text)["objects"]
    return {rule["policy"]: rule["result"] for rule in one["rules"]}


def test_an_object_of_the_cluster(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    running: PagedServer = request.getfixturevalue("cluster")
    running.add(pod("there"), pod("old"))
    text = run(capsys, "pod/shop/there", "--cluster", "-o", "json")
    assert results(text) == {
        "labelled": "fail",
        "selected": "fail",
        "asking": "fail",
        "goose": "none",
    }
    excepted = run(capsys, "Pod/old", "labelled", "-n", "shop", "--cluster")
    assert "skip: exception shop/old applies\n" in excepted


def test_an_object_of_a_file_that_kyverno_is_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "files.json", "--object", "system", "--policies-from", "cluster")
    assert "not sent to Kyverno in the cluster: resourceFilters [*/*,kube-system,*]" in text
    assert "labelled" not in text


@from_table("name", "said")
def test_an_object_that_is_not_there(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in run(capsys, name, "--cluster", code=2)
