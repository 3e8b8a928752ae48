"""`--policy-type`: a profile's policies in another form."""

import json
from pathlib import Path

from tests.data import beside, from_table
from tests.e2e.command import chartkit

POD = beside(__file__)["pod"]
POLICY = "disallow-host-namespaces"


@from_table("chosen", "source", "rule")
def test_scan_with_a_form(tmp_path: Path, chosen: list[str], source: str, rule: str | None) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    outputs = ["-o", "json", "-o", "policyreport=report.yaml"]
    done = chartkit(tmp_path, "scan", "pod.yaml", "-p", "pss-baseline", *chosen, *outputs)
    assert (done.code, done.err) == (1, "")
    found = json.loads(done.out)["results"]
    (failure,) = (each for each in found if each["result"] == "fail")
    assert (failure["policy"], failure["rule"] or None) == (POLICY, rule)
    assert f"source: {source}\n" in (tmp_path / "report.yaml").read_text()


def test_a_form_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    done = chartkit(tmp_path, "scan", "pod.yaml", "--policy-type", "Policy")
    assert done.code == 2
    assert "'Policy' is not one of 'ClusterPolicy', 'ValidatingPolicy'" in done.err


def test_preview_takes_it_too(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    chosen = ["-p", "pss-baseline", "--policy-type", "ValidatingPolicy"]
    done = chartkit(tmp_path, "preview", "pod.yaml", *chosen)
    assert done.code == 0
    assert done.line.startswith("note preview: none of these policies changes objects")
    assert done.out.endswith("# 0 mutated, 0 generated, 0 problems\n")
