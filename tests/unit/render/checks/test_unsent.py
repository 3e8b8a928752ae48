"""What the engine's own configuration keeps away from Kyverno: neither failure nor silence."""

from pathlib import Path

import pytest

from chartkit.project.project import read_project
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside

pytestmark = pytest.mark.slow

_TEXTS = beside(__file__)

POD = _TEXTS["pod"]
DEPLOYMENT = _TEXTS["deployment"]
SYSTEM_ONLY = _TEXTS["system-only"]
CEL_SYSTEM_ONLY = _TEXTS["cel-system-only"]
OPEN = _TEXTS["open"]


def _project(folder: Path, policy: str = "disallow-latest-tag", more: str = "") -> Path:
    (folder / "ours.yaml").write_text(
        "apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata: {name: ours}\n"
        f"spec:\n  title: ours\n  policies:\n    {policy}: {{}}\n"
    )
    (folder / "chartkit.yaml").write_text(
        f"profiles: [./ours.yaml]\nworkloads: [apps]\n{more}environments:\n  dev:\n"
        '    kyverno: "1.19"\n    kubernetes: "1.34"\n    action: Enforce\n'
    )
    (folder / "apps").mkdir()
    (folder / "apps" / "pod.yaml").write_text(POD)
    return folder


def _run(folder: Path) -> RenderResult:
    project = read_project(folder)
    return render_project(project, RenderOptions(tuple(project.environments.values())))


def _rows(done: RenderResult, check: str, outcome: Outcome | None = None) -> list[Row]:
    return [row for row in done.rows if row.check == check and outcome in (None, row.outcome)]


def _values(folder: Path, text: str) -> None:
    """A values file that people wrote before the first render."""
    file = folder / "charts" / "kyverno" / "values_dev.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_what_is_not_sent_is_a_note(tmp_path: Path) -> None:
    done = _run(_project(tmp_path))
    assert not done.failed
    (note,) = _rows(done, "workloads", Outcome.NOTE)
    assert note.message == (
        "not sent to Kyverno: resourceFilters [*/*,kube-system,*]: Pod/kube-system/pod; "
        "1 violation does not count"
    )
    assert note.location is not None
    assert note.location.file == f"{tmp_path}/charts/kyverno/values.yaml"
    assert note.location.path == "/config/resourceFilters/1"
    # What the defaults leave out of Kyverno's own objects violates nothing.
    assert not _rows(done, "engine's pods", Outcome.NOTE)


def test_violations_of_kyvernos_own_objects_that_it_is_not_sent_are_no_note(tmp_path: Path) -> None:
    done = _run(_project(tmp_path, "deployment-has-multiple-replicas"))
    (row,) = _rows(done, "engine's pods")
    assert row.message.endswith("no violation that counts")


def test_values_that_send_it_refuse_it(tmp_path: Path) -> None:
    _project(tmp_path)
    _values(tmp_path, OPEN)
    (row,) = _rows(_run(tmp_path), "workloads")
    assert row.outcome is Outcome.FAIL
    assert row.message.startswith("Pod/kube-system/pod: disallow-latest-tag: ")


def test_the_selector_alone_keeps_it_away(tmp_path: Path) -> None:
    _project(tmp_path)
    _values(tmp_path, "\nconfig: {resourceFiltersExcludeNamespaces: [kube-system]}\n")
    (note,) = _rows(_run(tmp_path), "workloads", Outcome.NOTE)
    text = "namespaceSelector kubernetes.io/metadata.name NotIn [kube-system]: Pod"
    assert f"not sent to Kyverno: {text}" in note.message
    assert note.location is not None
    assert note.location.path == "/config/webhooks/namespaceSelector"


def test_kubernetes_own_policies_know_no_filters(tmp_path: Path) -> None:
    done = _run(_project(tmp_path, more="policyType: ValidatingAdmissionPolicy\n"))
    (row,) = _rows(done, "workloads", Outcome.FAIL)
    assert row.message.startswith("Pod/kube-system/pod: disallow-latest-tag")


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ("resourceFiltersInclude: ['[Deployment,*,*]']", Outcome.FAIL),
        ("resourceFiltersIncludeNamespaces: [sho?]", Outcome.NOTE),
        ("resourceFiltersInclude: ['[Deployment,*,*]', '[Pod,shop,*]']", Outcome.NOTE),
        ("webhooks: {objectSelector: {matchLabels: {c: d}}}", Outcome.NOTE),
    ],
)
def test_the_pods_of_an_object_count(tmp_path: Path, values: str, outcome: Outcome) -> None:
    folder = _project(tmp_path)
    (folder / "apps" / "pod.yaml").write_text(DEPLOYMENT)
    _values(folder, f"config:\n  {values}\n")
    (row,) = _rows(_run(folder), "workloads", outcome)
    if outcome is Outcome.NOTE:
        assert row.location is not None
        assert row.location.file == f"{folder}/charts/kyverno/values_dev.yaml"
        assert row.location.path.removeprefix("/config/").split("/")[0] in values


@pytest.mark.parametrize("form", ["ClusterPolicy", "ValidatingPolicy"])
def test_a_policy_that_can_never_act_is_a_warning(tmp_path: Path, form: str) -> None:
    more = f"policyType: {form}\n"
    folder = _project(tmp_path, "eks-best-practices/require-aws-node-identity", more)
    done = _run(folder)
    (row,) = _rows(done, "examples", Outcome.WARNING)
    assert row.message.startswith("require-aws-node-identity can never act here: ")
    assert f"{tmp_path}/charts/kyverno/values.yaml:" in row.message
    assert "config.resourceFiltersExclude: ['[*/*,kube-system,*]']" in (row.hint or "")
    assert "config.webhooks.namespaceSelector without " in (row.hint or "")
    assert "{require-aws-node-identity: {enabled: false}}" in (row.hint or "")


def test_a_project_may_decide_that_it_only_reports(tmp_path: Path) -> None:
    folder = _project(tmp_path, "eks-best-practices/require-aws-node-identity")
    file = folder / "chartkit.yaml"
    named = "    policies: {require-aws-node-identity: {action: Audit}}\n"
    file.write_text(file.read_text() + named)
    (row,) = _rows(_run(folder), "examples", Outcome.NOTE)
    assert row.message.startswith("require-aws-node-identity is judged in background scans alone: ")


def test_values_let_it_act(tmp_path: Path) -> None:
    _values(tmp_path, OPEN)
    folder = _project(tmp_path, "eks-best-practices/require-aws-node-identity")
    assert [row.outcome for row in _rows(_run(folder), "examples")] == [Outcome.PASS]


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        (SYSTEM_ONLY, False),
        (SYSTEM_ONLY.replace("kube-public", "kube-*"), True),
        (SYSTEM_ONLY.replace("Node]", "Service]"), True),
        (CEL_SYSTEM_ONLY, False),
        (CEL_SYSTEM_ONLY.replace("[kube-system]}", "[kube-system, shop]}"), True),
        (CEL_SYSTEM_ONLY.replace("operator: In", "operator: NotIn"), True),
    ],
)
def test_a_policy_without_examples_can_be_read(tmp_path: Path, text: str, acts: bool) -> None:
    folder = _project(tmp_path, "system-only", "library: [mine]\n")
    (folder / "mine").mkdir()
    (folder / "mine" / "one.yaml").write_text(text)
    found = _rows(_run(folder), "examples", Outcome.WARNING)
    assert ["can never act" in row.message for row in found] == ([] if acts else [True])
