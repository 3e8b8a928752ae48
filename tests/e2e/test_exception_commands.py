"""`chartkit exceptions list` and `check`, and exceptions from findings."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests.data import beside
from tests.e2e.command import Done, chartkit
from tests.e2e.transcript import check_page, write_shown
from tests.unit.network.cluster.server import PagedServer, labelled, namespace, pod
from tests.unit.render.test_pipeline import PROFILE

_TEXTS = beside(__file__)

_SOON = datetime.now(UTC).date() + timedelta(days=20)
POD = _TEXTS["pod"]
EXCEPTION = _TEXTS["exception"]
IN_CEL = _TEXTS["in-cel"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PROFILE)
    pods = (POD.replace("NAME", name) for name in ("agent-1", "web"))
    (tmp_path / "pods.yaml").write_text("---\n".join(pods))
    return tmp_path


def check(folder: Path, exception: str, *options: str) -> tuple[Done, list[dict[str, str]]]:
    (folder / "exception.yaml").write_text(exception)
    given = ("pods.yaml", "-p", "small.yaml", "--exceptions", "exception.yaml", "-o", "json")
    done = chartkit(folder, "exceptions", "check", *given, *options)
    return done, json.loads(done.out)["findings"] if done.out else []


def ids(found: list[dict[str, str]]) -> list[str]:
    return [each["id"] for each in found]


def test_one_that_is_needed_and_narrow_is_right(folder: Path) -> None:
    done, found = check(folder, EXCEPTION.replace("RULES", '"*"'))
    assert (done.code, found) == (0, [])


@pytest.mark.parametrize(
    ("exception", "expected", "code"),
    [
        (EXCEPTION.replace("RULES", '"*"').replace("agent*", "other*"), ["unused"], 0),
        (EXCEPTION.replace("RULES", '"*", nothing'), ["unknown-rule", "too-wide"], 1),
        (EXCEPTION.replace("RULES", ""), ["unused"], 0),
        (re.sub("exceptions:\n.*", "exceptions: []", EXCEPTION), ["unused"], 0),
        (
            EXCEPTION.replace("RULES", '"*"').replace("latest-tag", "latest-tags"),
            ["unknown-policy"],
            1,
        ),
        (EXCEPTION.replace("RULES", '"*"').replace("namespaces: [shop], ", ""), ["too-wide"], 0),
        (
            EXCEPTION.replace("RULES", '"*"').replace(
                "namespace: kyverno", 'labels: {cleanup.kyverno.io/ttl: "2020-01-01"}'
            ),
            ["expired"],
            1,
        ),
        (
            EXCEPTION.replace("RULES", '"*"').replace(
                "namespace: kyverno", f'labels: {{cleanup.kyverno.io/ttl: "{_SOON}"}}'
            ),
            ["expires-soon"],
            0,
        ),
    ],
)
def test_each_mistake_has_a_finding(
    folder: Path, exception: str, expected: list[str], code: int
) -> None:
    done, found = check(folder, exception)
    assert (ids(found), done.code) == (expected, code), done.err


@pytest.mark.slow
def test_a_policy_in_cel_that_is_not_needed_is_named(folder: Path) -> None:
    _, found = check(folder, IN_CEL, "--policy-type", "ValidatingPolicy")
    assert ids(found) == ["too-wide"]
    assert "policy disallow-host-path is not needed; namespaces shop suffice" in found[0]["message"]


def test_what_the_project_wants_is_checked(folder: Path) -> None:
    rules = "exceptionRules: {annotations: [owner], maxDays: 30}\n"
    environments = 'environments: {prd: {kyverno: "1.19", kubernetes: "1.34"}}\n'
    (folder / "chartkit.yaml").write_text(rules + environments)
    done, found = check(folder, EXCEPTION.replace("RULES", '"*"'))
    assert (ids(found), done.code) == (["without-mark", "without-end"], 1)


@pytest.mark.slow
def test_those_of_an_environment_in_cel(folder: Path) -> None:
    (folder / "exceptions.yaml").write_text(
        EXCEPTION.replace("RULES", '"*"')
        + "---\n"
        + EXCEPTION.replace("RULES", '"*"').replace("name: agent", "name: b").replace("agent*", "b")
    )
    (folder / "chartkit.yaml").write_text(
        "profiles: [./small.yaml]\nenvironments:\n  prd: {kyverno: '1.19', kubernetes: '1.34', "
        "engine: false, exceptions: [exceptions.yaml], workloads: [pods.yaml]}\n"
    )
    assert chartkit(folder, "render").code == 0
    done = chartkit(folder, "exceptions", "check", "--env", "prd")
    assert "no object needs exception b [unused]" in done.out
    assert "2 exceptions, 0 errors, 1 warning" in done.out
    listed = json.loads(chartkit(folder, "exceptions", "list", "-o", "json").out)["exceptions"]
    assert [(each["name"], each["environments"]) for each in listed] == [
        ("agent", ["prd"]),
        ("b", ["prd"]),
    ]


@pytest.mark.slow
def test_exceptions_from_findings_let_the_objects_off(folder: Path) -> None:
    options = ("-p", "small.yaml")
    assert chartkit(folder, "scan", "pods.yaml", *options).code == 1
    done = chartkit(
        folder,
        "exceptions",
        "write",
        "pods.yaml",
        *options,
        "--findings",
        "--annotation",
        "owner=a",
    )
    assert done.code == 0, done.err
    (folder / "written.yaml").write_text(done.out)
    bodies = list(yaml.safe_load_all(done.out))
    assert all("cleanup.kyverno.io/ttl" in each["metadata"]["labels"] for each in bodies)
    assert {each["metadata"]["annotations"]["owner"] for each in bodies} == {"a"}
    assert chartkit(folder, "scan", "pods.yaml", *options, "--exceptions", "written.yaml").code == 0
    none = chartkit(folder, "exceptions", "write", "small.yaml", *options, "--findings")
    assert none.code == 2


@pytest.mark.slow
def test_page_about_exceptions_is_true(folder: Path, update: bool) -> None:
    page = "how-to/exceptions.md"
    assert write_shown(page, folder) == ["small.yaml", "web.yaml", "wide.yaml"]
    check_page(page, folder, update)


@pytest.mark.slow
def test_a_recording_of_a_cluster_is_asked(tmp_path: Path) -> None:
    policy = labelled()
    with PagedServer() as running:
        running.add(namespace("shop"), pod("a"))
        (tmp_path / "kubeconfig").write_text(running.kubeconfig)
        (tmp_path / "policy.json").write_text(json.dumps(policy))
        scanned = ("scan", "--cluster", "-p", "policy.json", "--record", "rec")
        chartkit(tmp_path, *scanned, KUBECONFIG="kubeconfig")
    text = _TEXTS["label-exception"].replace("POLICY", policy["metadata"]["name"])
    for where, expected in (("no-such", ["unused"]), ("*", ["too-wide"])):
        (tmp_path / "exception.yaml").write_text(text.replace("NAMESPACE", f'"{where}"'))
        given = ("rec", "-p", "policy.json", "--exceptions", "exception.yaml", "-o", "json")
        done = chartkit(tmp_path, "exceptions", "check", *given)
        assert ids(json.loads(done.out)["findings"]) == expected, done.err
