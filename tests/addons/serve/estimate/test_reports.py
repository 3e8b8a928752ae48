"""PolicyReports: one for each object that a policy judges, as Kyverno's settings have them."""

import pytest

from chartkit.addons.serve.estimate.measurements import Estimate
from tests.addons.serve.estimate.samples import (
    CONFIG_MAP,
    NO_PODS,
    POD,
    engine,
    estimated,
    legacy,
    workload,
)
from tests.data import from_table


def counts(found: Estimate) -> dict[str, int]:
    return {each.kind: each.reports for each in found.kinds if each.reports}


def test_each_object_has_a_report_and_so_has_what_controllers_make() -> None:
    text = workload("Deployment", 3) + workload("CronJob", name="nightly") + CONFIG_MAP
    found = estimated(legacy(), text)
    assert counts(found) == {
        "Deployment": 1,
        "ReplicaSet": 1,
        "Pod": 3 + 3,
        "CronJob": 1,
        "Job": 3,
        "ConfigMap": 1,
    }
    assert found.reports.reports == 13
    assert found.reports.results == found.reports.reports


def test_a_cluster_has_its_pods_already() -> None:
    found = estimated(legacy(), workload("Deployment", 3) + POD, live=True)
    assert counts(found) == {"Deployment": 1, "ReplicaSet": 1, "Pod": 1}


def test_what_no_policy_judges_has_no_report() -> None:
    assert counts(estimated(legacy(kinds="[Service]"), workload("Deployment", 3))) == {}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param((), 1, id="as the chart has it"),
        pytest.param(("--policyReports=false",), 0, id="no reports"),
        pytest.param(("--aggregateReports=false",), 0, id="nothing gathers"),
        pytest.param(("--backgroundScan=false",), 1, id="admission alone"),
        pytest.param(("--admissionReports=false",), 1, id="scans alone"),
        pytest.param(("--backgroundScan=false", "--admissionReports=false"), 0, id="neither"),
        pytest.param(("--allowedResults=fail,error",), 0, id="failures alone"),
        pytest.param(("--allowedResults=pass",), 1, id="passes alone"),
        pytest.param(("--enableReporting=mutate",), 0, id="mutations alone"),
    ],
)
def test_settings_decide(arguments: tuple[str, ...], expected: int) -> None:
    assert estimated(legacy(), POD, engine(*arguments)).reports.reports == expected


@from_table("spec", "arguments", "expected")
def test_the_policy_decides(spec: str, arguments: list[str], expected: int) -> None:
    assert estimated(legacy(spec=spec), POD, engine(*arguments)).reports.reports == expected


def test_a_policy_may_report_nothing() -> None:
    policy = legacy().replace(
        "{name: p,", "{name: p, labels: {reports.kyverno.io/disabled: 'true'},"
    )
    assert estimated(policy, POD).reports.reports == 0


@pytest.mark.parametrize(("skips", "expected"), [("true", 1), ("false", 0)])
def test_background_scans_pass_over_resource_filters(skips: str, expected: int) -> None:
    settings = engine(f"--skipResourceFilters={skips}")
    found = estimated(legacy(), POD, settings, NO_PODS)
    assert found.reports.reports == expected
    assert found.reports.filtered == expected
    assert found.reports.ephemeral == 0


def test_the_size_is_that_of_the_report() -> None:
    one = estimated(legacy(), POD).reports
    two = estimated(legacy("a") + legacy("b"), POD).reports
    assert (one.reports, two.reports) == (1, 1)
    assert 1_000 < one.size < 2_500
    assert 150 < two.size - one.size < 500


def test_etcd_grows_with_results_beyond_those_that_were_measured() -> None:
    sixteen = "".join(legacy(f"p{at}") for at in range(16))
    as_measured = estimated(sixteen, POD)
    more = estimated(sixteen + "".join(legacy(f"q{at}") for at in range(16)), POD)
    assert estimated(legacy(), POD).growth == as_measured.growth
    assert more.growth == 2 * as_measured.growth
    assert more.database.value - as_measured.database.value == pytest.approx(as_measured.growth)


def test_the_figures_are_those_of_upstream_for_as_many_reports() -> None:
    found = estimated(legacy(), workload("StatefulSet", 10_253))
    assert found.reports.reports == 10_254
    assert found.database.value == 483_000_000
    assert found.memory.value == 152 << 20
    [note] = [each for each in found.notes if "kyverno.io" in each]
    assert "16 policies" in note
    assert "1.0 results" in note
