from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from chartkit.charts.policies.chart import plan
from chartkit.errors import InputError
from chartkit.kyverno import matrix as compat
from chartkit.kyverno.matrix import RULE_ADMISSION, Support, compatibility, kube_version_range
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Severity
from chartkit.render.compatibility import environment
from tests.unit.project.project_files import write_project

TODAY = date(2026, 11, 1)

# The table, written out: the data file must say the same.
MATRIX = {
    "1.6": ("1.16", "1.23", None, None),
    "1.7": ("1.21", "1.23", None, None),
    "1.8": ("1.23", "1.25", "2022-10-10", "2023-11-10"),
    "1.9": ("1.24", "1.26", "2023-02-01", "2024-04-26"),
    "1.10": ("1.24", "1.26", "2023-05-30", "2024-10-29"),
    "1.11": ("1.25", "1.28", "2023-11-10", "2025-04-25"),
    "1.12": ("1.26", "1.29", "2024-04-26", "2025-07-31"),
    "1.13": ("1.28", "1.31", "2024-10-29", "2025-11-10"),
    "1.14": ("1.29", "1.32", "2025-04-24", "2026-02-02"),
    "1.15": ("1.30", "1.33", "2025-07-31", "2026-04-29"),
    "1.16": ("1.31", "1.34", "2025-11-10", "2026-08-20"),
    "1.17": ("1.32", "1.35", "2026-02-02", None),
    "1.18": ("1.33", "1.35", "2026-04-29", None),
    "1.19": ("1.33", "1.35", "2026-08-20", None),
}


def version(text: str) -> Version:
    return parse_version(text, "it")


def test_the_data_file_holds_the_matrix() -> None:
    found = {
        str(row.kyverno): (
            str(row.oldest),
            str(row.newest),
            row.released and row.released.isoformat(),
            row.end_of_life and row.end_of_life.isoformat(),
        )
        for row in compat.matrix().values()
    }
    assert found == MATRIX
    assert list(compat.matrix()) == sorted(compat.matrix())


@pytest.mark.parametrize("kyverno", MATRIX)
def test_each_pair_of_the_matrix(kyverno: str) -> None:
    oldest, newest = (version(text).minor for text in MATRIX[kyverno][:2])
    for minor in range(10, 45):
        verdict = compat.judge(version(kyverno), Version(1, minor), TODAY)
        expected = Support.SUPPORTED
        if minor < oldest:
            expected = Support.BELOW
        if minor > newest:
            expected = Support.ABOVE
        assert verdict.support is expected
        assert (version(kyverno) in verdict.fitting) is verdict.supported
        errors = [each for each in compat.diagnostics(verdict, None) if each.severity == "error"]
        assert bool(errors) is not verdict.supported


def test_end_of_life_is_a_warning_from_the_day_on() -> None:
    pair = version("1.12"), version("1.29")
    assert not compat.judge(*pair, date(2025, 7, 30)).end_of_life
    after = compat.judge(*pair, date(2025, 7, 31))
    found = compat.diagnostics(after, None)
    assert [each.severity for each in found] == [Severity.WARNING]
    assert found[0].hint == "newer and fitting this cluster: 1.13, 1.14"


def test_what_fits_is_named_where_a_pair_is_not_supported() -> None:
    verdict = compat.judge(version("1.12"), version("1.34"), TODAY)
    error = compat.diagnostics(verdict, None)[0]
    assert error.message == "Kubernetes 1.34 is above what Kyverno 1.12 supports (1.26–1.29)"
    assert error.hint == "Kubernetes 1.34 is supported by Kyverno 1.16, 1.17, 1.18, 1.19"


@pytest.mark.parametrize(("kyverno", "kubernetes"), [("1.99", "1.34"), ("1.5", "1.20")])
def test_an_unknown_kyverno_is_an_input_error(kyverno: str, kubernetes: str) -> None:
    with pytest.raises(InputError, match="is not known"):
        compat.judge(version(kyverno), version(kubernetes), TODAY)


def test_an_impossible_kubernetes_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"Kubernetes 2\.1 is not known"):
        compat.judge(version("1.19"), version("2.1"), TODAY)


def test_the_range_for_chart_yaml_spans_every_environment() -> None:
    assert compat.kube_version_range([version("1.19")]) == ">=1.33-0 <1.36-0"
    assert compat.kube_version_range(map(version, ["1.19", "1.12"])) == ">=1.26-0 <1.36-0"
    assert compat.kube_version_range([version("1.8")]) == ">=1.23-0 <1.26-0"


def test_admission_policies_need_a_cluster_that_serves_them(tmp_path: Path) -> None:
    text = (
        "policyType: ValidatingAdmissionPolicy\nenvironments:\n"
        '  old: {kyverno: "1.12", kubernetes: "1.29"}\n'
        '  plain: {kyverno: "1.12", kubernetes: "1.29", policyType: ClusterPolicy}\n'
        '  new: {kyverno: "1.19", kubernetes: "1.34"}\n'
    )
    project = write_project(tmp_path, text)
    today = date(2025, 1, 1)
    found = {name: environment(each, today) for name, each in project.environments.items()}
    (refused,) = [each for each in found["old"].diagnostics if each.rule_id == RULE_ADMISSION]
    assert "needs Kubernetes 1.30, and this is 1.29" in refused.message
    assert refused.location is not None
    assert refused.location.line == 1
    assert not found["old"].supported
    assert found["plain"].supported
    assert found["new"].supported
    with pytest.raises(InputError, match=r"needs Kubernetes 1\.30"):
        plan(project)


def test_a_chart_of_admission_policies_admits_what_serves_them() -> None:
    assert kube_version_range([Version(1, 12)]) == ">=1.26-0 <1.30-0"
    assert kube_version_range([Version(1, 12)], Version(1, 30)) == ">=1.30-0 <1.31-0"
    assert kube_version_range([Version(1, 19)], Version(1, 30)) == ">=1.33-0 <1.36-0"


@pytest.mark.parametrize(
    ("chart", "installed"), [("3.1.4", "1.11"), ("2.6.0", "1.8"), ("3.9", "1.19")]
)
def test_the_version_of_a_chart_is_told_from_kyverno_s(chart: str, installed: str) -> None:
    with pytest.raises(InputError) as caught:
        compatibility(parse_version(chart, "Kyverno"))
    minor = chart.rpartition(".")[0] if chart.count(".") == 2 else chart
    wanted = f"{minor} is a version of its Helm chart, which installs Kyverno {installed}"
    assert caught.value.hint == wanted
