"""The gate of `chartkit scan`: baselines, suppressions, selectors and thresholds."""

import json
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import Done, chartkit

_TEXTS = beside(__file__)
POLICIES = _TEXTS["policies"]


def pod(name: str, *, namespace: str = "shop", team: bool = True, annotations: str = "") -> str:
    labels = "{team: a}" if team else "{}"
    return f"""\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: {namespace}
  labels: {labels}
{annotations}spec:
  containers:
    - name: app
      image: reg.example.com/{name}:1
      securityContext: {{privileged: true}}
"""


def suppress(text: str) -> str:
    lines = "".join(f"      {line}\n" for line in text.splitlines())
    return f"  annotations:\n    chartkit.dev/suppress: |\n{lines}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policies.yaml").write_text(POLICIES)
    (tmp_path / "pods").mkdir()
    for name in ("a", "b"):
        (tmp_path / "pods" / f"{name}.yaml").write_text(pod(name))
    return tmp_path


def scan(folder: Path, *options: str) -> Done:
    return chartkit(folder, "scan", "pods", "-p", "policies.yaml", *options)


def test_known_violations_pass_and_new_ones_fail(folder: Path) -> None:
    assert scan(folder).code == 1
    missing = scan(folder, "--baseline", "known.yaml")
    assert missing.code == 2
    assert "known.yaml: there is no baseline (--update-baseline writes it)" in missing.err
    written = scan(folder, "--baseline", "known.yaml", "--update-baseline")
    assert written.code == 0
    assert "known: 2" in written.out
    known = scan(folder, "--baseline", "known.yaml", "-o", "json")
    assert known.code == 0
    body = json.loads(known.out)
    assert body["summary"]["fail"] == 0
    assert known.err == ""
    # Lines that move, and files that are renamed, change nothing.
    (folder / "pods" / "a.yaml").rename(folder / "pods" / "z.yaml")
    (folder / "pods" / "b.yaml").write_text("# a comment\n" + pod("b"))
    assert scan(folder, "--baseline", "known.yaml").code == 0
    (folder / "pods" / "c.yaml").write_text(pod("c"))
    new = scan(folder, "--baseline", "known.yaml")
    assert new.code == 1
    assert "Pod/shop/c" in new.out
    assert "Pod/shop/a" not in new.out


def test_stale_entries_are_named(folder: Path) -> None:
    scan(folder, "--baseline", "known.yaml", "--update-baseline")
    (folder / "pods" / "a.yaml").unlink()
    done = scan(folder, "--baseline", "known.yaml")
    assert done.code == 0
    assert (
        "warning CK602: no longer found: disallow-privileged/privileged: v1/Pod/shop/a" in done.err
    )
    assert done.err.startswith("known.yaml:6:")
    assert scan(folder, "--baseline", "known.yaml", "--fail-on-stale").code == 1
    assert scan(folder, "--baseline", "known.yaml", "--update-baseline").code == 0
    assert scan(folder, "--baseline", "known.yaml", "--fail-on-stale").code == 0


def test_selected_run_judges_only_its_part_of_the_baseline(folder: Path) -> None:
    (folder / "pods" / "d.yaml").write_text(pod("d", namespace="other", team=False))
    scan(folder, "--baseline", "known.yaml", "--update-baseline")
    text = (folder / "known.yaml").read_text()
    for part in ("--select=require-team", "--skip=namespace:shop", "--select=kind:Pod"):
        done = scan(folder, "--baseline", "known.yaml", "--fail-on-stale", part)
        assert done.code == 0, done.err
        scan(folder, "--baseline", "known.yaml", "--update-baseline", part)
        assert (folder / "known.yaml").read_text() == text


def test_expired_entries_fail_again(folder: Path) -> None:
    scan(folder, "--baseline", "known.yaml", "--update-baseline")
    known = folder / "known.yaml"
    lines = known.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "Pod/shop/a" in line)
    lines.insert(at + 1, "    reason: soon gone\n    until: 2020-01-31\n")
    known.write_text("".join(lines))
    for update in ((), ("--update-baseline",)):
        done = scan(folder, "--baseline", "known.yaml", *update)
        assert done.code == 1
        assert "warning CK603: accepted until 2020-01-31: disallow-privileged" in done.err
        assert "soon gone" in known.read_text()


def test_options_of_a_baseline_need_one(folder: Path) -> None:
    for option in ("--update-baseline", "--fail-on-stale"):
        done = scan(folder, option)
        assert done.code == 2
        assert done.line == f"{option} needs a baseline (name it with --baseline FILE)"


@from_table("options", "code")
def test_severity_decides_what_fails(folder: Path, options: list[str], code: int) -> None:
    assert scan(folder, *options).code == code


def test_violations_below_the_threshold_are_counted_and_warnings(folder: Path) -> None:
    done = scan(folder, "--fail-on", "critical", "-o", "github")
    assert "::warning file=" in done.out
    assert "::error file=" not in done.out
    assert "below critical do" in done.err
    assert "fail the run (--fail-on critical)" in done.err
    assert "::error file=" in scan(folder, "--fail-on", "high", "-o", "github").out


def test_policy_without_a_severity_fails_at_any_threshold(folder: Path) -> None:
    bare = POLICIES.replace("policies.kyverno.io/severity: high", "other: x")
    (folder / "policies.yaml").write_text(bare)
    assert scan(folder, "--fail-on", "critical").code == 1
    assert scan(folder, "--fail-on", "none").code == 0


def test_run_in_which_nothing_matches_is_named(folder: Path) -> None:
    (folder / "policies.yaml").write_text(
        POLICIES.replace("kinds: [Pod", "kinds: [StatefulSet")
        .replace("spec:\n  rules", "spec:\n  rules")
        .replace(", Deployment]", "]")
    )
    done = scan(folder)
    assert done.code == 0
    assert "note CK604: no policy matched any object (the nearest is " in done.err
    failing = scan(folder, "--fail-on-nothing")
    assert failing.code == 1
    assert "error CK604: no policy matched any object" in failing.err


def test_built_in_policies_have_short_names_in_reports(folder: Path) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    (folder / "config.yaml").write_text(config)
    done = chartkit(folder, "scan", "config.yaml", "-p", "pss-restricted")
    assert ", profiles/policies/baseline/" in done.err
    done = chartkit(folder, "why", "pods/a.yaml", "disallow-capabilities", "-p", "pss-restricted")
    assert "\n      profiles/policies/baseline/disallow-capabilities/policy.yaml:" in done.out


@from_table("options", "rules")
def test_selectors(folder: Path, options: list[str], rules: set[str]) -> None:
    (folder / "pods" / "d.yaml").write_text(pod("d", namespace="other", team=False))
    done = scan(folder, "-o", "json", *options)
    results = json.loads(done.out)["results"]
    assert {each["rule"] for each in results if each["result"] == "fail"} == rules
    assert done.code == (1 if rules else 0)


def test_control_of_a_standard_selects_its_policies(folder: Path) -> None:
    done = chartkit(folder, "scan", "pods", "--select", "cis:5.2.2", "-o", "json")
    results = json.loads(done.out)["results"]
    assert {each["policy"] for each in results} == {"disallow-privileged-containers"}


@from_table("selector", "message")
def test_selector_that_matches_nothing_is_an_error(
    folder: Path, selector: str, message: str
) -> None:
    for option in ("--select", "--skip"):
        done = scan(folder, option, selector, "-o", "json=report.json")
        assert done.code == 2
        assert done.line.startswith(option)
        assert message in done.line
        assert not (folder / "report.json").exists()


def test_suppressed_finding_is_listed_with_its_reason(folder: Path) -> None:
    text = "- policy: disallow-privileged\n  reason: It is a node agent.\n  until: 2999-01-31\n"
    (folder / "pods" / "a.yaml").write_text(pod("a", annotations=suppress(text)))
    (folder / "pods" / "b.yaml").unlink()
    done = scan(folder)
    assert done.code == 0, done.err
    assert "suppressed: It is a node agent., until 2999-01-31" in done.out
    assert "fail: 0" in done.out
    off = scan(folder, "--no-suppressions")
    assert off.code == 1
    assert "chartkit.dev/suppress does not count: suppressions are off" in off.err
    # A suppressed violation is none of the baseline's.
    scan(folder, "--baseline", "known.yaml", "--update-baseline")
    assert "violations: []" in (folder / "known.yaml").read_text()


@from_table("text", "message")
def test_suppression_that_does_not_hold_is_named(folder: Path, text: str, message: str) -> None:
    (folder / "pods" / "a.yaml").write_text(pod("a", annotations=suppress(text)))
    (folder / "pods" / "b.yaml").unlink()
    done = scan(folder)
    assert done.code == 1
    assert message in done.line
    assert done.line.startswith("pods/a.yaml:8:")
    assert "CK601" in done.line


def test_quiet_run_shows_only_failures(folder: Path) -> None:
    assert scan(folder, "--quiet", "--skip", "disallow-privileged").out == ""
    done = scan(folder, "-q")
    assert done.code == 1
    assert "Pod/shop/a" in done.out
    assert "pass:" not in done.out
