"""Versions of Kyverno and Kubernetes, and which go together."""

from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from chartkit.charts.policies.chart import plan
from chartkit.errors import InputError
from chartkit.kyverno import matrix as compat
from chartkit.kyverno.matrix import (
    RULE_ADMISSION,
    Compatibility,
    Support,
    compatibility,
    kube_version_range,
)
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Location, Severity
from chartkit.render.compatibility import environment
from tests.data import from_table
from tests.errors import error_of
from tests.unit.project.project_files import write_project

TODAY = date(2026, 11, 1)


def version(text: str) -> Version:
    return parse_version(text, "it")


def test_support_moves_on_from_version_to_version() -> None:
    rows = list(compat.matrix().values())
    for older, newer in pairwise(rows):
        assert newer.kyverno == older.kyverno.next_minor()
        assert older.oldest <= newer.oldest
        assert older.newest <= newer.newest
    for row in rows:
        assert row.oldest <= row.newest
        assert row.released is None or row.end_of_life is None or row.released < row.end_of_life


@pytest.mark.parametrize("row", compat.matrix().values(), ids=lambda row: str(row.kyverno))
def test_a_cluster_is_supported_between_the_oldest_and_the_newest(row: Compatibility) -> None:
    for minor in range(10, 45):
        verdict = compat.judge(row.kyverno, Version(1, minor), TODAY)
        expected = Support.SUPPORTED
        if minor < row.oldest.minor:
            expected = Support.BELOW
        if minor > row.newest.minor:
            newest = max(each.newest for each in compat.matrix().values())
            expected = Support.UNDECLARED if row.newest == newest else Support.ABOVE
        assert verdict.support is expected
        assert (row.kyverno in verdict.fitting) is verdict.supported
        errors = [each for each in compat.diagnostics(verdict, None) if each.severity == "error"]
        assert bool(errors) is not verdict.supported


@from_table("kyverno", "kubernetes", "rule")
def test_a_pair_that_is_not_supported_can_be_accepted(
    kyverno: str, kubernetes: str, rule: str
) -> None:
    verdict = compat.judge(version(kyverno), version(kubernetes), date(2024, 5, 1))
    (error,) = compat.diagnostics(verdict, None)
    assert (error.rule_id, error.severity) == (rule, Severity.ERROR)
    assert 'compatibility: {accept: "reason"}' in str(error.hint)
    assert ("`versions:`" in str(error.hint)) is (rule == "CK106")
    (warning,) = compat.diagnostics(verdict, None, "we moved")
    assert (warning.rule_id, warning.severity) == (rule, Severity.WARNING)
    assert warning.message == f"{error.message}; accepted: we moved"


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
    assert error.hint is not None
    assert error.hint.startswith("Kubernetes 1.34 is supported by Kyverno 1.16, 1.17, 1.18, 1.19")


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
    error = error_of(InputError, compatibility, parse_version(chart, "Kyverno"))
    minor = chart.rpartition(".")[0] if chart.count(".") == 2 else chart
    wanted = f"{minor} is a version of its Helm chart, which installs Kyverno {installed}"
    assert error.hint == wanted


@from_table("text", "expected")
def test_reads_versions_as_clusters_write_them(text: str, expected: list[int]) -> None:
    assert parse_version(text, "Kubernetes") == Version(*expected)


@from_table("text")
def test_refuses_anything_else(text: object) -> None:
    error = error_of(InputError, parse_version, text, "Kubernetes", Location("chartkit.yaml", 4, 3))
    assert str(error).startswith("chartkit.yaml:4:3: ")
    assert "is not a version of Kubernetes" in error.message


def test_orders_by_number_not_by_text() -> None:
    versions = [Version(1, 10), Version(1, 9), Version(1, 19)]
    assert [str(each) for each in sorted(versions)] == ["1.9", "1.10", "1.19"]
    assert Version(1, 9).next_minor() == Version(1, 10)
