"""`chartkit scan --fix`, as a user runs it."""

from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit, snapshot

POD = beside(__file__)["pod"]


@pytest.mark.slow
def test_manifests_are_fixed_as_far_as_nobody_decides(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "values.yaml").write_text("no: object\n")
    before = snapshot(tmp_path)
    shown = chartkit(tmp_path, "scan", "--fix", "--diff", ".")
    assert snapshot(tmp_path) == before
    assert "-  hostNetwork: true   # for the ingress\n" in shown.out
    assert "+  hostNetwork: false   # for the ingress\n" in shown.out
    done = chartkit(tmp_path, "scan", "--fix", ".")
    # The volume stays: a person replaces it.
    assert shown.code == done.code == 1
    assert done.out.startswith("fixed pod.yaml: 5 violations of 1 object, 5 fields\n")
    assert "Pod/web disallow-host-path/host-path: " in done.out
    after = snapshot(tmp_path)
    assert after.keys() == before.keys()
    assert after["values.yaml"] == before["values.yaml"]
    again = chartkit(tmp_path, "scan", "--fix", ".")
    assert snapshot(tmp_path) == after
    assert "fixed " not in again.out


def test_a_fix_takes_no_option_that_is_not_for_files(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    done = chartkit(tmp_path, "scan", "--diff", ".")
    assert (done.code, done.line) == (2, "--diff needs --fix")
    done = chartkit(tmp_path, "scan", "--fix", "--cluster")
    assert (done.code, done.line) == (
        2,
        "--fix and --cluster do not go together (leave one of them out)",
    )
