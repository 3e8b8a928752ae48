import json
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from chartkit.kyverno.releases import current
from tests.data import beside, from_table
from tests.e2e.command import PROGRAM, chartkit, snapshot

_KYVERNO = current().version
_SERVED = ", ".join(map(str, current().serves))

ENVIRONMENTS = ("dev", "qa", "prd")


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, file
    file.write_text(text.replace(old, new, 1))


def test_init_starts_in_an_empty_folder_and_overwrites_nothing(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "init")
    assert (done.code, done.err) == (0, "")
    text = (tmp_path / "chartkit.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=.chartkit/project.schema.json\n")
    json.loads((tmp_path / ".chartkit" / "project.schema.json").read_text())
    before = snapshot(tmp_path)
    again = chartkit(tmp_path, "init")
    assert again.code == 2
    assert "is there already, and is not overwritten" in again.line
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--profile", "pss-restrict"], "there is no profile 'pss-restrict' (did you mean"),
        (["--kubernetes", "new"], "'new' is not a version of Kubernetes"),
        (["--eks", "1.99"], f"Kubernetes 1.99 is above what Kyverno {_KYVERNO} supports ("),
        (["--kubernetes", "1.20"], f"Kubernetes 1.20 is below what Kyverno {_KYVERNO} supports ("),
    ],
)
def test_init_with_a_mistake_writes_nothing(
    tmp_path: Path, arguments: list[str], expected: str
) -> None:
    done = chartkit(tmp_path, "init", *arguments)
    assert done.code == 2
    assert done.line.startswith(expected)
    assert snapshot(tmp_path) == {}


@pytest.mark.slow
def test_a_new_project_renders_and_passes(rendered: Path) -> None:
    for chart in ("kyverno", "kyverno-policies"):
        folder = rendered / "charts" / chart
        names = {"Chart.yaml", "values.yaml", "values.schema.json", "templates"}
        names |= {f"values_{env}.yaml" for env in ENVIRONMENTS}
        assert names <= {path.name for path in folder.iterdir()}
        assert (folder / "templates" / "NOTES.txt").is_file()
        for env in ENVIRONMENTS:
            text = (rendered / "rendered" / env / f"{chart}.yaml").read_text()
            assert "kind: ValidatingPolicy" in text or "kind: Deployment" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "profile", ["pss-baseline", "eks-best-practices", "multi-tenancy", "supply-chain"]
)
def test_a_new_project_of_another_profile_passes_too(tmp_path: Path, profile: str) -> None:
    assert chartkit(tmp_path, "init", "--profile", profile, "--eks", "1.34").code == 0
    done = chartkit(tmp_path, "render")
    assert done.code == 0, done.out + done.err
    assert "warning: 0, fail: 0" in done.out


@pytest.mark.slow
def test_rendering_again_changes_nothing(project: Path) -> None:
    before = snapshot(project)
    done = chartkit(project, "render")
    assert done.code == 0
    assert done.out.endswith("nothing has changed\n")
    assert snapshot(project) == before
    check = chartkit(project, "render", "dev", "--check")
    assert (check.code, check.err) == (0, "")
    assert check.out.endswith("the charts have not drifted\n")


@pytest.mark.slow
def test_the_summary_for_programs(project: Path) -> None:
    done = chartkit(project, "render", "qa", "-o", "json")
    report = json.loads(done.out)
    assert {row["environment"] for row in report["rows"]} == {"qa"}
    checks = ["compatibility", "values", "helm", "availability", "policies", "examples"]
    found = [row["check"] for row in report["rows"]]
    assert [check for check in checks if check not in found] == []
    assert all(row["location"] for row in report["rows"])
    assert report["summary"]["fail"] == 0


@pytest.mark.slow
def test_check_fails_with_a_diff_where_charts_drift(project: Path) -> None:
    template = next((project / "charts" / "kyverno-policies" / "templates").rglob("*.yaml"))
    template.write_text(template.read_text() + "# by hand\n")
    before = snapshot(project)
    done = chartkit(project, "render", "dev", "--check", "--diff")
    assert done.code == 1
    assert f"--- {template.relative_to(project)}\n" in done.out
    assert "-# by hand\n" in done.out
    assert snapshot(project) == before
    assert "was changed by hand and is written anew" in chartkit(project, "render", "dev").out


@pytest.mark.slow
def test_hand_edits_of_values_survive(project: Path) -> None:
    values = project / "charts" / "kyverno" / "values_prd.yaml"
    replace(values, "replicas: 3", "replicas: 5  # busy cluster")
    assert chartkit(project, "render", "prd", "--check").code == 0
    replace(project / "chartkit.yaml", "action: Audit", "action: Enforce")
    done = chartkit(project, "render", "prd")
    assert done.code == 0, done.out + done.err
    assert "replicas: 5  # busy cluster" in values.read_text()
    assert "has 5 replicas; 3 are enough to be highly available" in done.out
    policies = project / "charts" / "kyverno-policies" / "values_prd.yaml"
    assert "Enforce" in policies.read_text() + (policies.parent / "values.yaml").read_text()


@pytest.mark.slow
def test_a_conflict_is_shown_and_goes_where_the_user_says(project: Path) -> None:
    values = project / "charts" / "kyverno" / "values_prd.yaml"
    replace(values, "replicas: 3", "replicas: 4")
    replace(project / "chartkit.yaml", "highAvailability: true", "highAvailability: false")
    before = snapshot(project)
    done = chartkit(project, "render")
    assert done.code == 2
    assert done.err.startswith("charts/kyverno/values_prd.yaml:")
    assert "was changed by hand (" in done.err
    assert snapshot(project) == before
    assert chartkit(project, "render", "prd", "--prefer", "edits").code == 0
    assert "replicas: 4" in values.read_text()


@pytest.mark.slow
@from_table("old", "new", "expected")
def test_a_failed_check_writes_nothing(project: Path, old: str, new: str, expected: str) -> None:
    replace(project / "charts" / "kyverno" / "values_prd.yaml", old, new)
    replace(project / "chartkit.yaml", "action: Audit", "action: Enforce")
    before = snapshot(project)
    done = chartkit(project, "render", "prd")
    assert done.code == 1
    lines = done.out.splitlines()
    [head] = [head for head, line in pairwise(lines) if expected in line]
    assert head.startswith("fail  ")
    assert "(prd)" in head
    assert "charts/kyverno/values_prd.yaml:" in head
    assert done.out.endswith("nothing was written\n")
    assert snapshot(project) == before


POD = beside(__file__)["pod"]


@pytest.mark.slow
def test_an_enforced_violation_fails_and_an_audited_one_is_reported(project: Path) -> None:
    file = project / "bad.yaml"
    file.write_text(POD)
    enforced = chartkit(project, "render", "dev", "--workloads", "bad.yaml")
    assert enforced.code == 1
    assert enforced.out.count("disallow-host-namespaces") == 1
    assert "fail  workloads (dev)  bad.yaml:" in enforced.out
    audited = chartkit(project, "render", "prd", "--workloads", "bad.yaml")
    assert audited.code == 0
    assert "disallow-host-namespaces" in audited.out
    assert "warning  workloads (prd)  bad.yaml:" in audited.out


BAD_PROJECTS = {
    "broken YAML": ("environments:", "environments: {", "kyverno:", "is not YAML: "),
    "unknown key": ("profiles:", "profile:", "profile:", "unknown key 'profile' (did you mean"),
    "unknown profile": (
        "  - pss-restricted",
        "  - pss-strict",
        "- pss-strict",
        "there is no profile 'pss-strict' (did you mean",
    ),
    "environment that climbs": ("  dev:", "  ../x:", "../x", "'../x' cannot be a name here"),
    "Force": (
        "action: Enforce",
        "action: Force",
        "action: Force",
        "'environments.dev.action' must be Audit or Enforce, not \"Force\" (Kyverno's word is",
    ),
    "unknown policy": (
        "action: Audit",
        "action: Audit\n    policies: {disallow-priviliged-containers: {enabled: true}}",
        "disallow-priviliged",
        "there is no policy 'disallow-priviliged-containers' (did you mean",
    ),
    "unknown parameter": (
        "action: Audit",
        "action: Audit\n    parameters: {podSecurityVersoin: v1.30}",
        "podSecurityVersoin",
        "podSecurityVersoin",
    ),
    "another Kyverno": (
        f'kyverno: "{_KYVERNO}"',
        'kyverno: "1.16"',
        'kyverno: "1.16"',
        f"the engine chart installs Kyverno {_SERVED}, not 1.16 (set kyverno:",
    ),
    "a workload that is not there": (
        "  - workloads",
        "  - nowhere",
        "- nowhere",
        "there is no 'nowhere'",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", BAD_PROJECTS)
def test_a_mistake_in_the_project_is_one_line(project: Path, mistake: str) -> None:
    old, new, marker, expected = BAD_PROJECTS[mistake]
    file = project / "chartkit.yaml"
    replace(file, old, new)
    number = next(n for n, line in enumerate(file.read_text().splitlines(), 1) if marker in line)
    before = snapshot(project)
    done = chartkit(project, "render")
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(f"chartkit.yaml:{number}:")
    assert expected in done.line
    assert snapshot(project) == before


@pytest.mark.slow
def test_an_unknown_environment(project: Path) -> None:
    done = chartkit(project, "render", "prod")
    assert (done.code, done.out) == (2, "")
    assert done.line.endswith("there is no environment 'prod' (did you mean 'prd'?)")


@pytest.mark.slow
def test_an_empty_folder(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "render")
    assert (done.code, done.out) == (2, "")
    assert done.line == "chartkit.yaml: there is no project file (`chartkit init` writes one)"
    assert snapshot(tmp_path) == {}


@pytest.mark.slow
def test_an_unreadable_file(project: Path) -> None:
    (project / "workloads" / "binary.yaml").write_bytes(b"apiVersion: v1\nkind: \xff\n")
    done = chartkit(project, "render")
    assert (done.code, done.err) == (2, "")
    row = "fail  unread (dev, qa, prd)  workloads/binary.yaml\n  is not UTF-8 text (byte 21)\n"
    assert row in done.out


@pytest.mark.slow
def test_a_cycle_in_extends(project: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        (project / f"{name}.yaml").write_text(
            "apiVersion: chartkit.dev/v1\nkind: Profile\n"
            f"metadata: {{name: {name}}}\nspec:\n  title: {name}\n  extends: [./{other}.yaml]\n"
        )
    replace(project / "chartkit.yaml", "  - pss-restricted", "  - ./one.yaml")
    done = chartkit(project, "render")
    assert (done.code, done.out) == (2, "")
    assert "extends itself: one → two → one" in done.line
    assert done.line.startswith("two.yaml:6:")


@pytest.mark.slow
def test_two_policies_of_one_name(project: Path) -> None:
    from chartkit.bundled import library_dir

    source = next(library_dir().rglob("disallow-host-path"))
    shutil.copytree(source, project / "policies" / "own" / "disallow-host-path")
    named: dict[str, object] = {"own/disallow-host-path": {}, "baseline/disallow-host-path": {}}
    spec = {"title": "Ours", "policies": named}
    profile = {"apiVersion": "chartkit.dev/v1", "kind": "Profile", "metadata": {"name": "ours"}}
    (project / "ours.yaml").write_text(json.dumps({**profile, "spec": spec}), "utf-8")
    text = (project / "chartkit.yaml").read_text("utf-8")
    text = text.replace("profiles:\n", "library: [policies]\nprofiles:\n  - ./ours.yaml\n", 1)
    (project / "chartkit.yaml").write_text(text, "utf-8")
    done = chartkit(project, "render")
    assert (done.code, done.out) == (2, "")
    assert "two policies 'disallow-host-path'" in done.line


@pytest.mark.slow
def test_a_chart_that_does_not_render(project: Path) -> None:
    chart = project / "broken"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: broken\nversion: 0.1.0\n")
    (chart / "templates" / "x.yaml").write_text("a: 1\nb: {{ .Values.x.y }}\n")
    shutil.copy(project / "workloads" / "hello.yaml", project / "more.yaml")
    done = chartkit(project, "render", "--workloads", "broken", "--workloads", "more.yaml")
    assert (done.code, done.err) == (2, "")
    assert "fail  unread (dev, qa, prd)  broken/templates/x.yaml:2:13\n" in done.out
    assert "  Helm cannot render the chart: " in done.out
    assert done.out.endswith("nothing was written\n")


@pytest.mark.slow
def test_two_renders_at_once(project: Path) -> None:
    import fcntl
    import os

    handle = os.open(project, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        done = chartkit(project, "render")
    finally:
        os.close(handle)
    assert (done.code, done.out) == (2, "")
    assert "another render of this project is running (wait until it has ended)" in done.line


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.3, 0.8, 1.1, 1.4])
def test_a_killed_render_leaves_whole_charts(project: Path, delay: float) -> None:
    replace(project / "chartkit.yaml", "action: Audit", "action: Enforce")
    charts = project / "charts"
    old = {name: snapshot(charts / name) for name in ("kyverno", "kyverno-policies")}
    process = subprocess.Popen(
        [PROGRAM, "render", "dev"],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = {name: snapshot(charts / name) for name in old}
    done = chartkit(project, "render", "dev")
    assert done.code == 0, done.out + done.err
    for name, files in killed.items():
        assert files in (old[name], snapshot(charts / name))
    assert sorted(path.name for path in charts.iterdir()) == ["kyverno", "kyverno-policies"]


@pytest.mark.slow
def test_check_compares_the_manifests(project: Path) -> None:
    manifest = project / "rendered" / "dev" / "kyverno-policies.yaml"
    assert chartkit(project, "render", "dev", "--check").code == 0
    replace(manifest, "kind: ", "kind: X")
    done = chartkit(project, "render", "dev", "--check", "--diff")
    assert done.code == 1
    assert "rendered/dev/kyverno-policies.yaml (generated)" in done.out
    chartkit(project, "render", "dev")
    manifest.unlink()
    assert chartkit(project, "render", "dev", "--check").code == 1
    shutil.rmtree(project / "rendered")
    done = chartkit(project, "render", "dev", "--check", "--diff")
    assert done.code == 0
    assert "is not there, and was not compared" in done.out


@pytest.mark.slow
def test_values_edited_by_hand_leave_older_manifests(project: Path) -> None:
    values = project / "charts" / "kyverno" / "values_prd.yaml"
    replace(values, "replicas: 3", "replicas: 5")
    done = chartkit(project, "render", "prd", "--check")
    assert done.code == 0, done.out
    assert "is older than the values, which were edited by hand since" in done.out
    replace(project / "rendered/prd/kyverno.yaml", "kind: ", "kind: X")
    assert chartkit(project, "render", "prd", "--check").code == 1
    assert chartkit(project, "render", "prd").code == 0
    done = chartkit(project, "render", "prd", "--check")
    assert (done.code, "is older" in done.out) == (0, False)


_KILLED_AFTER_A_FOLDER = """
import os, signal, sys
from chartkit.kyverno.releases import current
from chartkit.output import atomic_folder
from chartkit.cli.main import main

replace_folder = atomic_folder.replace_folder

def once(new, target):
    replace_folder(new, target)
    os.kill(os.getpid(), signal.SIGKILL)

atomic_folder.replace_folder = once
main(["render", "dev"])
"""


@pytest.mark.slow
def test_a_render_killed_between_two_folders_is_seen_and_repaired(project: Path) -> None:
    replace(project / "chartkit.yaml", "action: Audit", "action: Enforce")
    command = [sys.executable, "-c", _KILLED_AFTER_A_FOLDER]
    done = subprocess.run(command, cwd=project, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert chartkit(project, "render", "dev", "--check").code == 1
    assert chartkit(project, "render", "dev").code == 0
    assert chartkit(project, "render", "dev", "--check").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("link", ["charts", "charts/kyverno", "rendered", "rendered/dev"])
def test_render_writes_through_no_link_out_of_the_project(project: Path, link: str) -> None:
    elsewhere = project.parent / "elsewhere"
    shutil.move(project / link, elsewhere)
    (project / link).symlink_to(elsewhere)
    before = snapshot(elsewhere)
    replace(project / "chartkit.yaml", "action: Audit", "action: Enforce")
    done = chartkit(project, "render", "dev")
    assert (done.code, done.out) == (2, "")
    assert f"{link}: is a link that leads out of the project, to {elsewhere}" in done.line
    assert snapshot(elsewhere) == before


@pytest.mark.slow
def test_what_helm_warns_of_is_one_row_for_all_environments(project: Path) -> None:
    chart = project / "mine"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: mine\nversion: 1.0.0\n")
    (chart / "values.schema.json").write_text('{"$ref": "urn:example:a"}')
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    (chart / "templates" / "a.yaml").write_text(body)
    (project / "apps").mkdir(exist_ok=True)
    (project / "apps" / "main.jsonnet").write_text("{}\n")
    done = chartkit(project, "render", "--workloads", "mine", "--workloads", "apps")
    lines = list(pairwise(done.out.splitlines()))
    [head] = [head for head, line in lines if "Helm warns: " in line]
    assert head.startswith("note  helm warnings (dev, qa, prd)  ")
    [head] = [head for head, line in lines if "is Jsonnet" in line]
    assert head.startswith("note  scan-input (dev, qa, prd)  ")
