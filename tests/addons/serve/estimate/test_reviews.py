"""AdmissionReviews: upstream's counts, as far as the webhooks of the policies cover them."""

import pytest

from chartkit.addons.serve.estimate.measurements import OPERATIONS, Estimate
from chartkit.engine import Configuration, Operation, read_configuration
from tests.addons.serve.estimate.samples import (
    CONFIG_MAP,
    NO_PODS,
    POD,
    engine,
    estimated,
    legacy,
    workload,
)
from tests.data import beside

_TEXTS = beside(__file__)

NOT_SHOP = (
    '{"namespaceSelector": {"matchExpressions": '
    '[{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop"]}]}}'
)
CREATE, UPDATE, DELETE = OPERATIONS
IN_CEL = _TEXTS["in-cel"]
MUTATING = _TEXTS["mutating"]


def in_cel(further: str = "", more: str = "") -> str:
    return IN_CEL.replace("FURTHER", further or "failurePolicy: Fail").replace(
        "MORE", more or "matchPolicy: Equivalent"
    )


def reviews(policies: str, text: str, **more: object) -> tuple[int, ...]:
    found: Estimate = estimated(policies, text, **more)  # type: ignore[arg-type]
    return tuple(found.reviews.by_operation[each] for each in OPERATIONS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(POD, {CREATE: 1, DELETE: 3}, id="Pod"),
        pytest.param(workload("Deployment", 1), {CREATE: 3, UPDATE: 8, DELETE: 7}, id="one"),
        pytest.param(workload("Deployment", 2), {CREATE: 4, UPDATE: 13, DELETE: 10}, id="two"),
        pytest.param(workload("Deployment", 9), {CREATE: 11, UPDATE: 48, DELETE: 31}, id="nine"),
        pytest.param(workload("Job"), {CREATE: 3, DELETE: 4}, id="Job"),
        pytest.param(workload("CronJob"), {CREATE: 1, DELETE: 9}, id="CronJob"),
        pytest.param(CONFIG_MAP, {CREATE: 1, UPDATE: 1, DELETE: 1}, id="ConfigMap"),
    ],
)
def test_webhooks_for_everything_get_what_upstream_counted(
    text: str, expected: dict[Operation, int]
) -> None:
    found = estimated(legacy(), text)
    assert list(found.webhooks) == ["validate.kyverno.svc-fail"]
    assert {each: found.reviews.by_operation[each] for each in expected} == expected


def test_each_run_of_a_cron_job_counts() -> None:
    found = estimated(legacy(), workload("CronJob"))
    assert found.reviews.a_day == 24 * 3
    assert estimated(legacy(), workload("CronJob", spec="suspend: true")).reviews.a_day == 0


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        pytest.param(legacy(kinds="[ConfigMap]"), (0, 0, 0), id="another kind"),
        pytest.param(legacy(kinds="[Pod]"), (2, 2 + 6, 6), id="Pods, all operations"),
        pytest.param(
            legacy(kinds="[Pod]", match=", operations: [CREATE]"), (2, 2, 0), id="Pods created"
        ),
        pytest.param(legacy(kinds="[Deployment]"), (1, 1, 2), id="Deployments"),
        pytest.param(legacy(kinds='["*"]', spec="background: false"), (4, 13, 10), id="everything"),
        pytest.param(legacy(spec="admission: false"), (0, 0, 0), id="background alone"),
        pytest.param(in_cel(), (2, 2, 0), id="in CEL, Pods created"),
        pytest.param(MUTATING, (2, 2, 0), id="mutation: writes alone"),
        pytest.param(
            legacy(kinds="[Pod]") + MUTATING, (2 + 2, 2 + 6 + 2, 6), id="two configurations"
        ),
        pytest.param(legacy("a") + legacy("b"), (4, 13, 10), id="two policies, one webhook"),
        pytest.param(
            legacy("a") + legacy("b", spec="failurePolicy: Ignore"),
            (8, 26, 20),
            id="two failure policies",
        ),
        pytest.param(legacy(kinds="[Pod]") + in_cel(), (4, 10, 6), id="both generations"),
        pytest.param(
            in_cel(more="objectSelector: {matchLabels: {app: other}}"), (0, 0, 0), id="selector"
        ),
        pytest.param(
            in_cel(more="objectSelector: {matchLabels: {app: web}}"), (2, 2, 0), id="its selector"
        ),
        pytest.param(
            in_cel(more="objectSelector: {matchLabels: {app: web}}")
            + in_cel().replace("name: c", "name: d"),
            (4, 4, 0),
            id="two selectors, two webhooks",
        ),
    ],
)
def test_only_what_webhooks_cover_counts(policies: str, expected: tuple[int, ...]) -> None:
    assert reviews(policies, workload("Deployment", 2)) == expected


def test_policies_of_pods_are_asked_about_controllers_too() -> None:
    in_both = in_cel().replace("  autogen: {podControllers: {controllers: []}}\n", "")
    assert reviews(in_both, workload("Deployment", 2)) == (4, 3, 0)
    older = legacy(kinds="[Pod]").replace(
        ", annotations: {pod-policies.kyverno.io/autogen-controllers: none}", ""
    )
    assert reviews(older, workload("Deployment", 2)) == (4, 13, 10)


def test_excluded_operations_are_not_sent() -> None:
    policy = legacy(kinds="[Pod]").replace(
        "      validate:",
        "      exclude: {any: [{resources: {operations: [DELETE]}}]}\n      validate:",
    )
    assert reviews(policy, POD) == (1, 1, 0)


def test_webhooks_have_kyvernos_names() -> None:
    further = legacy("b", spec="failurePolicy: Ignore")
    conditions = "matchConditions: [{name: a, expression: 'true'}]"
    found = estimated(legacy() + further + MUTATING + in_cel(conditions), POD)
    assert found.webhooks == {
        "mutate.kyverno.svc-fail": ["m"],
        "validate.kyverno.svc-fail": ["p"],
        "validate.kyverno.svc-ignore": ["b"],
        "vpol.validate.kyverno.svc-fail-finegrained-c": ["c"],
    }
    assert any("matchConditions" in each for each in found.notes)


def test_policies_of_the_api_server_need_no_webhook() -> None:
    policy = beside(__file__)["policy"]
    found = estimated(policy, POD)
    assert found.webhooks == {}
    assert found.reviews.total == 0
    assert found.reports.reports == 1


def test_generation_asks_about_what_it_generates() -> None:
    policy = beside(__file__)["generation_asks_about_what_it_generates"]
    assert reviews(policy, CONFIG_MAP) == (1, 1, 1)
    assert reviews(policy, POD) == (0, 0, 0)


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [(NO_PODS, (1, 1, 3)), (read_configuration({"webhooks": NOT_SHOP}), (0, 0, 0))],
    ids=["resource filters", "namespace selector"],
)
def test_filters_answer_what_selectors_do_not_send(
    configuration: Configuration, expected: tuple[int, ...]
) -> None:
    assert reviews(legacy(), POD, settings=engine(), configuration=configuration) == expected


def test_pods_of_controllers_are_counted_with_these() -> None:
    owner = (
        "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true}]"
    )
    pods = "".join(POD.replace("{name: web,", f"{{name: web-{at}, {owner},") for at in range(3))
    assert reviews(legacy(), workload("Deployment", 3) + pods) == (5, 18, 13)


def test_autoscalers_and_nodes_decide_how_many_pods_there_are() -> None:
    scaler = beside(__file__)["scaler"]
    assert reviews(legacy(), workload("Deployment", 1) + scaler)[0] == 1 + 1 + 4
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\n---\n"
    nodes = node.replace("NAME", "a") + node.replace("NAME", "b")
    assert reviews(legacy(), workload("DaemonSet") + nodes)[0] == 1 + 2
    assert reviews(legacy(), workload("DaemonSet"), nodes=7)[0] == 1 + 7
