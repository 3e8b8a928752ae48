"""What brings a load down: values and their effect, which an estimate with them confirms."""

from chartkit.addons.serve.estimate.measurements import Advice, Estimate
from chartkit.model import Severity
from tests.addons.serve.estimate.samples import NO_PODS, POD, engine, estimated, legacy, workload


def advice(found: Estimate) -> dict[str, Advice]:
    return {each.key: each for each in found.advice}


MANY = workload("StatefulSet", 10_253)


def test_a_limit_that_is_too_low_is_a_warning() -> None:
    found = advice(estimated(legacy(), MANY, engine()))["reportsController.resources"]
    assert found.severity is Severity.WARNING
    assert found.message == "152Mi are needed for 10,254 reports, and the limit is 128Mi"
    assert found.values == "reportsController.resources.limits.memory: 256Mi"
    enough = estimated(legacy(), MANY, engine(memory="256Mi"))
    assert "reportsController.resources" not in advice(enough)


def test_operations_that_rules_do_not_name() -> None:
    text = workload("Deployment", 2)
    found = estimated(legacy(), text)
    assert "16 of 27 reviews are about deletions" in advice(found)["operations"].message
    narrow = estimated(legacy(match=", operations: [CREATE, UPDATE]"), text)
    # Ten to delete the Deployment, and six for the Pods that an update replaces.
    assert found.reviews.total - narrow.reviews.total == 10 + 6
    assert "operations" not in advice(narrow)


def test_a_policy_for_every_kind_is_named() -> None:
    found = advice(
        estimated(legacy("all", kinds='["*"]', spec="background: false") + legacy("few"), POD)
    )
    assert found["match"].message.endswith("for all")


def test_replica_sets_repeat_their_deployments() -> None:
    found = advice(estimated(legacy(), workload("Deployment", 2)))["autogenControllers"]
    assert found.message.startswith("7 reviews and 1 report about ReplicaSets")
    assert "ReplicaSet," not in found.values


def test_reports_without_failures_can_be_left_out() -> None:
    found = estimated(legacy(), POD, engine())
    assert "1 of 1 report have" in advice(found)["features.reporting"].message
    after = estimated(legacy(), POD, engine("--allowedResults=fail,error,warn"))
    assert after.reports.reports == 0
    assert "features.reporting" not in advice(after)


def test_filtered_objects_need_no_reports() -> None:
    found = advice(estimated(legacy(), POD, engine(), NO_PODS))["features.backgroundScan"]
    assert found.values == "features.backgroundScan.skipResourceFilters: false"


def test_ephemeral_reports_that_nothing_gathers_are_a_warning() -> None:
    found = advice(estimated(legacy(), POD, engine("--aggregateReports=false")))
    assert found["features.admissionReports"].severity is Severity.WARNING
    assert "#8974" in found["features.admissionReports"].message
    quiet = estimated(legacy(), POD, engine("--aggregateReports=false", "--admissionReports=false"))
    assert "features.admissionReports" not in advice(quiet)


def test_reports_of_admission_alone_are_a_warning() -> None:
    found = advice(estimated(legacy(), POD, engine("--backgroundScan=false")))
    assert found["features.backgroundScan"].severity is Severity.WARNING


def test_more_replicas_for_many_requests() -> None:
    found = advice(estimated(legacy(), MANY, engine()))["admissionController.replicas"]
    assert "10,000 under 17 policies: 93 ms" in found.message
    assert "admissionController.replicas" not in advice(
        estimated(legacy(), MANY, engine(replicas=3))
    )


def test_a_database_beyond_its_quota_is_a_warning() -> None:
    found = advice(estimated(legacy(), workload("StatefulSet", 200_000), engine()))
    assert found["reports-server"].severity is Severity.WARNING


def test_older_replica_sets_are_named() -> None:
    text = workload("Deployment", 1, spec="revisionHistoryLimit: 4")
    assert "may add 4 reports" in advice(estimated(legacy(), text))["revisionHistoryLimit"].message
