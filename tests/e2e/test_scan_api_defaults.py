"""`--api-defaults`: files as an API server would store what is in them."""

import json
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import chartkit

_TEXTS = beside(__file__)

POD = _TEXTS["pod"]


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    return file


@from_table("options", "path")
def test_a_path_goes_as_far_as_what_is_there(pod: Path, options: list[str], path: str) -> None:
    done = chartkit(pod.parent, "scan", str(pod), "-o", "json", *options)
    assert done.code == 1
    assert path in done.out


def test_what_preview_mutates_has_its_defaults(pod: Path) -> None:
    policy = pod.parent / "policy.yaml"
    policy.write_text(_TEXTS["mutates"])
    words = ("preview", str(pod), "-p", str(policy), "-o", "json")
    assert json.loads(chartkit(pod.parent, *words).out)["previews"] == []
    (entry,) = json.loads(chartkit(pod.parent, *words, "--api-defaults").out)["previews"]
    (made,) = entry["made"]
    assert made["before"]["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert made["after"]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--json", "{}"), "--api-defaults is about Kubernetes objects, and --json about none\n"),
        (("--cluster",), "--api-defaults is not for a scan of a cluster\n"),
    ],
    ids=["json", "cluster"],
)
def test_what_has_no_defaults_to_fill_in_is_said(
    pod: Path, options: tuple[str, ...], message: str
) -> None:
    words = [str(pod) if option == "{}" else option for option in options]
    done = chartkit(pod.parent, "scan", *words, "--api-defaults")
    assert (done.code, done.out, done.err) == (2, "", message)
