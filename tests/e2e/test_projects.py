"""Projects from the outside: generation, compatibility, monitoring, vendored charts."""

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.reader import read_file
from chartkit.kyverno.known_faults import Announcement, announced
from chartkit.project.project import read_project
from chartkit.render.model import Outcome, RenderResult
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import from_table, tables
from tests.e2e.command import chartkit, snapshot
from tests.e2e.transcript import check_page
from tests.objects import api_object
from tests.shared import ROOT
from tests.unit.charts.upstream.vendored_files import (
    PROJECT,
    chart,
    index,
    packed_chart,
    repository,
)
from tests.unit.network.downloads.archive_files import tar_of, zeros_bomb
from tests.unit.network.downloads.hostile_server import Answer, Server, body, hang, serving
from tests.unit.project.project_files import write_profile

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
TARGET = "{{ request.object.metadata.name }}"


def _write(path: Path, *documents: Any) -> str:
    path.write_text("\n---\n".join(json.dumps(one) for one in documents), encoding="utf-8")
    return path.name


def _policy(generate: dict[str, Any], **spec: Any) -> dict[str, Any]:
    match = {"any": [{"resources": {"kinds": ["Namespace"]}}]}
    rules = [{"name": "make", "match": match, "generate": generate}]
    return api_object("kyverno.io/v1", "ClusterPolicy", "maker", spec={"rules": rules, **spec})


SECRET = api_object("v1", "Secret", "shared/pull", data={"k": "dg=="})
CLONE = {
    "apiVersion": "v1",
    "kind": "Secret",
    "name": "pull",
    "namespace": TARGET,
    "synchronize": True,
    "clone": {"namespace": "shared", "name": "pull"},
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "name": "{{ request.userInfo.username }}-owns",
    "namespace": TARGET,
    "data": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "name": "{{ request.userInfo.username }}"}],
    },
}
USER = api_object("cli.kyverno.io/v1alpha1", "UserInfo", "who", userInfo={"username": "dana"})


def test_a_secret_into_a_new_namespace(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", _policy(CLONE))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE, SECRET)
    done = chartkit(tmp_path, "preview", objects, "-p", policy)
    assert (done.code, done.err) == (0, "")
    assert "namespace: shop" in done.out
    assert "k: (hidden)" in done.out


def test_a_binding_for_who_asks(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", _policy(BINDING, background=False))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE)
    user = _write(tmp_path / "user.yaml", USER)
    done = chartkit(tmp_path, "preview", objects, "-p", policy, "--userinfo", user)
    assert (done.code, done.err) == (0, "")
    assert "name: dana-owns" in done.out


def test_a_binding_in_the_background_is_refused_with_the_fix(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", _policy(BINDING))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE)
    done = chartkit(tmp_path, "scan", objects, "-p", policy)
    assert done.code == 1
    assert "Set spec.background=false" in done.err


def test_a_cluster_role_stands_outside_namespaces(tmp_path: Path) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": TARGET}
    policy = _write(tmp_path / "policy.yaml", _policy({**role, "data": {"rules": []}}))
    objects = _write(tmp_path / "objects.yaml", NAMESPACE)
    done = chartkit(tmp_path, "scan", objects, "-p", policy, "--detailed")
    assert (done.code, done.err) == (0, "")


AGE = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
CLEANUP = {
    "apiVersion": "kyverno.io/v2",
    "kind": "ClusterCleanupPolicy",
    "metadata": {"name": "old-pods"},
    "spec": {
        "schedule": "*/5 * * * *",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "conditions": {"all": [{"key": AGE, "operator": "GreaterThan", "value": "24h"}]},
    },
}
POD = api_object(
    "v1", "Pod", {"name": "a", "namespace": "shop", "creationTimestamp": "2030-01-01T00:00:00Z"}
)
LABELLED = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "shop", "labels": {"cleanup.kyverno.io/ttl": "2h"}},
}


def test_what_is_deleted_when(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", CLEANUP)
    objects = _write(tmp_path / "objects.yaml", POD, LABELLED)
    done = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", "2030-01-03T10:02:00Z")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-3:] == [
        "deletions after 2030-01-03T10:02:00Z: 2",
        "  2030-01-03T10:05:00Z  shop/Pod/a  old-pods",
        "  2030-01-03T12:02:00Z  shop/ConfigMap/c  cleanup.kyverno.io/ttl",
    ]
    early = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", "2030-01-01", "-o", "json")
    assert json.loads(early.out)["deletions"] == tables(__file__)["what_is_deleted_when"]
    assert "shop/Pod/a" not in early.err
    assert "shop/ConfigMap/c" in early.err


def test_without_a_time_scan_says_how_to_ask(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", CLEANUP)
    objects = _write(tmp_path / "objects.yaml", POD)
    done = chartkit(tmp_path, "scan", objects, "-p", policy)
    assert (done.code, done.line) == (0, "cleanup policies: --at TIME says what they delete")


def test_times_that_are_none(tmp_path: Path) -> None:
    policy = _write(tmp_path / "policy.yaml", CLEANUP)
    objects = _write(tmp_path / "objects.yaml", POD)
    for text in ("soon", "2030-13-01", "9999-12-31T23:59:59Z"):
        done = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", text)
        assert done.code == 2
        assert "--at" in done.line


def test_a_schedule_that_never_runs_is_told(tmp_path: Path) -> None:
    spec = {**CLEANUP["spec"], "schedule": "sometimes"}  # type: ignore[dict-item]
    policy = _write(tmp_path / "policy.yaml", {**CLEANUP, "spec": spec})
    objects = _write(tmp_path / "objects.yaml", POD)
    done = chartkit(tmp_path, "scan", objects, "-p", policy, "--at", "2030-01-03")
    assert done.code == 1
    assert "not in proper cron format" in done.err
    assert "deletions after 2030-01-03T00:00:00Z: 0" in done.out


@pytest.mark.slow
@from_table("kyverno", "kubernetes", "code", "status")
def test_a_pair(tmp_path: Path, kyverno: str, kubernetes: str, code: int, status: str) -> None:
    arguments = ("check-compat", "--kyverno", kyverno, "--kubernetes", kubernetes)
    done = chartkit(tmp_path, *arguments)
    assert (done.code, done.err) == (code, "")
    versions = [".".join(each.lstrip("v").split(".")[:2]) for each in (kyverno, kubernetes)]
    shown = {"undeclared": "not declared yet"}.get(status, status)
    assert done.out.startswith("Kyverno {} on Kubernetes {}: ".format(*versions) + f"{shown}\n")
    report = json.loads(chartkit(tmp_path, *arguments, "-o", "json").out)
    (subject,) = report["subjects"]
    assert subject["status"] == status
    assert subject["supported"] is (code == 0)


def test_a_release_with_a_known_fault(tmp_path: Path) -> None:
    fault = "warning CK105: Kyverno 1.19.0 deletes and re-creates every hour all that is generated"
    cluster = ("--kubernetes", "1.35")
    done = chartkit(tmp_path, "check-compat", "--kyverno", "v1.19.0", *cluster)
    assert (done.code, fault in done.out) == (0, True)
    assert "1.19.1 does not: https://github.com/kyverno/kyverno/issues/17594" in done.out
    for release in ("1.19", "1.19.1", "1.19.0-rc.1"):
        assert "CK105" not in chartkit(tmp_path, "check-compat", "--kyverno", release).out
    (tmp_path / "Chart.yaml").write_text(CHART)
    assert fault in chartkit(tmp_path, "check-compat", ".").out
    (tmp_path / "Chart.yaml").unlink()
    (tmp_path / "chartkit.yaml").write_text(
        'environments:\n  prd: {kyverno: "1.19.0", kubernetes: "1.35"}\n'
    )
    assert f"chartkit.yaml:2:9: {fault}" in chartkit(tmp_path, "check-compat").out


def test_an_accepted_pair_is_a_warning(tmp_path: Path) -> None:
    text = 'environments:\n  prd: {kyverno: "1.19", eks: "1.36"%s}\n'
    (tmp_path / "chartkit.yaml").write_text(text % "")
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 1
    assert "chartkit.yaml:2:9: error CK106: Kubernetes 1.36 is above what Kyverno 1.19" in done.out
    assert "not declared yet by upstream as of 1.19.1" in done.out
    (tmp_path / "chartkit.yaml").write_text(text % ", compatibility: {accept: tried in qa}")
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 0
    assert "warning CK106: Kubernetes 1.36 is above what Kyverno 1.19 supports" in done.out
    assert "; accepted: tried in qa" in done.out


def test_what_fits(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "check-compat", "--kyverno", "1.12", "--kubernetes", "1.34")
    assert "Kyverno 1.12 supports 1.26–1.29" in done.out
    assert "Kubernetes 1.34 is supported by Kyverno 1.16, 1.17, 1.18, 1.19" in done.out
    done = chartkit(tmp_path, "check-compat", "--kyverno", "1.18")
    assert done.code == 0
    assert "supports 1.33–1.35 (released 2026-04-29)" in done.out
    done = chartkit(tmp_path, "check-compat", "--kubernetes", "1.50")
    assert done.code == 1
    assert "Kubernetes 1.50 is supported by Kyverno no version" not in done.out
    said = "no known Kyverno supports Kubernetes 1.50 (the releases that chartkit "
    assert said in done.out


@from_table("arguments", "expected")
def test_no_version_or_an_unknown_one(tmp_path: Path, arguments: list[str], expected: str) -> None:
    done = chartkit(tmp_path, "check-compat", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(expected)


def test_a_projects_environments(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text(
        "environments:\n"
        '  old: {kyverno: "1.12", kubernetes: "1.29"}\n'
        '  new: {kyverno: "1.12", eks: "1.34"}\n'
    )
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 1
    assert "old: Kyverno 1.12 on Kubernetes 1.29: supported" in done.out
    assert "chartkit.yaml:2:9: warning CK102: Kyverno 1.12 is past its end of life" in done.out
    assert "chartkit.yaml:3:9: error CK101: Kubernetes 1.34 is above" in done.out


CHART = "apiVersion: v2\nname: x\nversion: 0.1.0\nappVersion: v1.19.0\n"


@from_table("kube_version", "kubernetes", "code", "expected")
def test_a_charts_folder(
    tmp_path: Path, kube_version: str, kubernetes: str | None, code: int, expected: str
) -> None:
    (tmp_path / "Chart.yaml").write_text(CHART + f"kubeVersion: '{kube_version}'\n")
    cluster = ["--kubernetes", kubernetes] if kubernetes else []
    done = chartkit(tmp_path, "check-compat", ".", *cluster)
    assert done.code == code
    assert expected in done.out + done.err


def test_a_chart_that_names_no_kyverno(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 0.1.0\n")
    done = chartkit(tmp_path, "check-compat", str(tmp_path))
    assert done.code == 2
    assert done.line.startswith(f"{tmp_path}/Chart.yaml:1: names no Kyverno version")


@pytest.mark.parametrize("known", announced().values(), ids=lambda known: str(known.version))
def test_an_announced_kyverno(tmp_path: Path, known: Announcement) -> None:
    version = known.version
    done = chartkit(tmp_path, "check-compat", "--kyverno", f"{version}.x")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith(f"Kyverno {version}: announced\n")
    assert known.advice in done.out
    assert known.changes
    for change in known.changes:
        assert str(change) in done.out
    (tmp_path / "chartkit.yaml").write_text(
        f'environments:\n  prd: {{kyverno: "{version}", kubernetes: "1.35"}}\n'
    )
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 1
    assert f"chartkit.yaml:2:9: error CK101: Kyverno {version} is announced" in done.out


@pytest.mark.slow
def test_check_compat_page_is_true(tmp_path: Path, update: bool) -> None:
    check_page("reference/check-compat.md", tmp_path, update)


REPORTER = """\
    policyReporter: {version: "3.9.1", ingress: {host: reports.example.test}}
"""
BALANCERS = """\
policies:
  eks-best-practices/disallow-public-load-balancers: {}
  eks-best-practices/require-encryption-aws-loadbalancers: {}
  eks-best-practices/require-target-type-ip: {}
"""


def rendered(folder: Path, *arguments: str) -> RenderResult:
    """A new project, rendered in process; one environment is checked."""
    assert chartkit(folder, "init", *arguments).code == 0
    project = read_project(folder)
    return render_project(project, RenderOptions((project.environment("prd"),)))


def passed(done: RenderResult) -> None:
    assert [row for row in done.rows if row.outcome in (Outcome.FAIL, Outcome.WARNING)] == []
    assert done.written


@pytest.mark.slow
def test_monitoring_operator(tmp_path: Path) -> None:
    passed(rendered(tmp_path, "--profile", "pss-baseline", "--monitoring", "prometheus-operator"))
    kinds = [each.body["kind"] for each in read_file(tmp_path / "rendered/prd/kyverno.yaml")]
    assert (kinds.count("ServiceMonitor"), kinds.count("PrometheusRule")) == (4, 1)
    values = tmp_path / "chartkit.yaml"
    values.write_text(values.read_text().replace("com/v1: true", "com/v1: false"))
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions((project.environment("prd"),)))
    assert done.failed
    assert any(
        row.outcome is Outcome.FAIL and "monitoring.coreos" in row.message for row in done.rows
    )


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["--eks", "--kubernetes"])
def test_load_balancers_beside_policies_about_them(cluster: str, tmp_path: Path) -> None:
    write_profile(tmp_path / "balancers.yaml", BALANCERS)
    given = ("--profile", "./balancers.yaml", cluster, "1.34", "--monitoring", "loadbalancer")
    passed(rendered(tmp_path, *given))
    values = (tmp_path / "chartkit.yaml").read_text()
    assert "the controllers serve their metrics without TLS" in values


@pytest.mark.slow
def test_policy_reporter(project: Path) -> None:
    """Its values files alone are written."""
    file = project / "chartkit.yaml"
    text = file.read_text()
    assert text.count("    action: Audit\n") == 1
    file.write_text(text.replace("    action: Audit\n", "    action: Audit\n" + REPORTER))
    done = render_project(read_project(project), RenderOptions(()))
    assert [path.name for path in done.written] == ["policy-reporter"]
    files = sorted(path.name for path in (project / "charts/policy-reporter").glob("*"))
    assert files == [".chartkit", "values_prd.yaml"]
    (values,) = read_file(project / "charts/policy-reporter/values_prd.yaml")
    assert values.body["plugin"] == {"kyverno": {"enabled": True}}


def test_monitoring_refuses_wrong_input(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "init", "--monitoring", "sidecar")
    assert (done.code, done.out) == (2, "")
    assert "'sidecar'" in done.err
    assert list(tmp_path.iterdir()) == []


def _below(folder: str, answers: dict[str, Answer]) -> dict[str, Answer]:
    return {f"/{folder}{path}": answer for path, answer in answers.items()}


@pytest.fixture
def vendoring(tmp_path: Path) -> Path:
    (tmp_path / "chartkit.yaml").write_text(PROJECT)
    return tmp_path


@pytest.fixture(scope="module")
def charts() -> Iterator[Server]:
    newer, policies = chart(version="3.9.1", app="v1.19.1"), chart("kyverno-policies")
    answers = {
        **_below("kyverno", repository(chart(), newer)),
        **_below("kyverno-policies", repository(policies, name="kyverno-policies")),
        **_below("changed", repository({**chart(), "README.md": b"# Other words\n"})),
        **_below("tampered", repository(newer)),
    }
    tampered = packed_chart({**newer, "templates/more.yaml": b"kind: More\n"})
    with serving({**answers, "/tampered/kyverno-3.9.1.tgz": body(tampered)}) as server:
        yield server


@pytest.mark.slow
def test_vendor_chart_page_is_true(vendoring: Path, charts: Server, update: bool) -> None:
    letters: dict[str, str] = {}

    def letter(found: re.Match[str]) -> str:
        # The digest of an archive depends on the system's zlib.
        return letters.setdefault(found[0], "abcdef"[len(letters)] * 8) + "…"

    def scrub(text: str) -> str:
        told = text.replace(charts.url, "https://charts.example.com")
        return re.sub(r"\b[0-9a-f]{64}\b", letter, told)

    check_page("how-to/vendor-chart.md", vendoring, update, {"CHARTS": charts.url}, scrub)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (tar_of([(tarfile.TarInfo("../../x"), b"x")]), "leads out of its folder"),
        (zeros_bomb(30_000_000), "unpacks to more than 100 times its size"),
        (packed_chart(chart())[:-20], "the archive is cut or damaged"),
        (None, "the server sent nothing for 2 seconds, in 3 attempts"),
    ],
    ids=["climbing", "oversized", "cut", "hanging"],
)
def test_vendor_chart_refusals(vendoring: Path, content: bytes | None, said: str) -> None:
    before = snapshot(vendoring)
    answers: dict[str, Answer] = {
        "/index.yaml": body(index("kyverno", {"3.9.0": (content or b"", "x.tgz")})),
        "/x.tgz": hang if content is None else body(content),
    }
    with serving(answers) as server:
        options = ("--version", "3.9.0", "--from", server.url, "--timeout", "2")
        done = chartkit(vendoring, "vendor", "chart", "kyverno", *options)
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(f"{server.url}/x.tgz: ")
    assert said in done.line
    assert snapshot(vendoring) == before


@pytest.mark.slow
def test_vendor_chart_usage_errors(vendoring: Path) -> None:
    done = chartkit(vendoring, "vendor", "chart", "kyverno")
    assert done.code == 2
    assert "--version" in done.err
    done = chartkit(vendoring, "vendor", "chart", "kiverno", "--version", "1")
    assert (done.code, done.line) == (
        2,
        "'kiverno' is not a chart that is vendored (did you mean 'kyverno'?)",
    )


@pytest.mark.slow
def test_the_committed_charts_have_not_drifted_and_pass() -> None:
    done = chartkit(ROOT, "render", "--check")
    assert done.code == 0, done.out + done.err
    assert done.out.endswith("the charts have not drifted\n")
