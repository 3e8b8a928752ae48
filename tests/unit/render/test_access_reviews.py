"""Access reviews of ClusterPolicies, and the timeout that an environment gets for them."""

from pathlib import Path
from typing import Any

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import render_profile
from chartkit.documents.reader import read_text
from chartkit.model import Body, Resource
from chartkit.project.project import Project, read_project
from chartkit.render.access_reviews import CHECK, PROMPT_REVIEWS, access_reviews
from chartkit.render.model import Outcome, Row
from chartkit.render.pipeline import RenderOptions, plan_charts, render_project
from tests.data import from_table
from tests.unit.project.project_files import write_policy, write_profile

DENY = {"validate": {"message": "no", "deny": {}}}
POD_RULE = 24
"""Pod, six controllers and CronJob, each with get, list and watch."""
MANY = PROMPT_REVIEWS // POD_RULE + 1
"""The fewest rules about Pods that are not admitted promptly."""


def reviews(kinds: list[str], rule: Body = DENY, kind: str = "ClusterPolicy", **more: Any) -> int:
    """The reviews of a policy with one rule."""
    match = {"any": [{"resources": {"kinds": kinds}}]}
    metadata = {"name": "one", **more}
    spec = {"rules": [{"name": "one", "match": match, **rule}]}
    body = {"apiVersion": "kyverno.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
    return access_reviews([Resource(body)])


def test_each_kind_is_asked_about_with_three_verbs() -> None:
    assert reviews(["Service"]) == 3
    assert reviews(["Service", "networking.k8s.io/v1/Ingress"], kind="Policy") == 6
    assert reviews(["Service"], {"mutate": {"patchStrategicMerge": {"metadata": {}}}}) == 3


def test_rules_for_pod_controllers_count() -> None:
    assert reviews(["Pod"]) == POD_RULE
    some = {"pod-policies.kyverno.io/autogen-controllers": "Deployment,CronJob"}
    assert reviews(["Pod"], annotations=some) == 9
    none = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    assert reviews(["Pod"], annotations=none) == 3


def test_nothing_is_asked_from_the_first_wildcard_on() -> None:
    assert reviews(["karpenter.sh/*/NodePool"]) == 0
    assert reviews(["Service", "karpenter.sh/*/NodePool", "Secret"]) == 3


def test_image_rules_and_unreadable_policies_ask_nothing() -> None:
    images = {"verifyImages": [{"imageReferences": ["*"]}]}
    assert reviews(["Pod"], images) == 0
    assert reviews(["Pod"], {"validate": "no mapping"}) == 0
    assert reviews(["Pod"], kind="ValidatingPolicy") == 0


@pytest.mark.slow
@from_table("profile", "reviews", "is_prompt")
def test_reviews_of_profiles_that_do_and_do_not_end_in_ten_seconds_on_a_busy_cluster(
    profile: str, reviews: int, is_prompt: bool
) -> None:
    assert access_reviews(render_profile(profile, {})) == reviews
    assert (reviews <= PROMPT_REVIEWS) is is_prompt


def project(
    folder: Path, rules: int, environment: str = "policyType: ClusterPolicy", more: str = ""
) -> Project:
    """A project with one policy of so many rules about Pods; more: further rules."""
    made = write_policy(folder / "policies", "own/many", policy(rules) + more, "1.12")
    for name in ("good.yaml", "bad.yaml"):
        (made / name).unlink()
    write_profile(folder / "all.yaml", "policies:\n  own/many: {}")
    (folder / "chartkit.yaml").write_text(
        "library: [policies]\nprofiles: [./all.yaml]\nenvironments:\n"
        f'  dev: {{kubernetes: "1.34", kyverno: "1.19", {environment}}}\n'
        '  qa: {kubernetes: "1.34", kyverno: "1.19", policies: {many: {enabled: false}}}\n'
    )
    return read_project(folder)


def policy(rules: int) -> str:
    """A ClusterPolicy with so many rules about Pods."""
    head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: many}\nspec:\n"
    rule = (
        "    - name: rule-{}\n      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n"
        "      validate: {{message: refused, pattern: {{metadata: {{name: '?*'}}}}}}\n"
    )
    return head + "  rules:\n" + "".join(map(rule.format, range(rules)))


def planned(given: Project) -> ChartPlan:
    return next(plan for plan in plan_charts(given, {}) if plan.name == "kyverno")


def extra_args(plan: ChartPlan, environment: str) -> Body:
    body = read_text(plan.values[f"values_{environment}.yaml"], "values")
    values: Body = (body[0].body if body else None) or {}
    container: Body = values.get("admissionController", {}).get("container", {})
    return dict(container.get("extraArgs", {}))


@pytest.mark.parametrize(
    ("rules", "expected"), [(MANY - 1, {}), (MANY, {"webhookTimeout": 30})], ids=["few", "many"]
)
def test_environments_with_many_reviews_get_a_longer_timeout(
    tmp_path: Path, rules: int, expected: Body
) -> None:
    plan = planned(project(tmp_path, rules))
    assert extra_args(plan, "dev") == expected
    assert extra_args(plan, "qa") == {}
    text = plan.values["values_dev.yaml"]
    assert (f"asks {MANY * POD_RULE:,} access reviews" in text) is bool(expected)


@pytest.mark.parametrize("seconds", ["15", "0"])
def test_a_timeout_of_the_projects_own_stays(tmp_path: Path, seconds: str) -> None:
    given = project(tmp_path, MANY)
    values = tmp_path / "charts" / "kyverno" / "values.yaml"
    values.parent.mkdir(parents=True)
    own = f"{{container: {{extraArgs: {{webhookTimeout: {seconds}}}}}}}"
    values.write_text(f"admissionController: {own}\n")
    assert extra_args(planned(given), "dev") == {}


@pytest.mark.slow
def test_other_values_of_the_project_change_nothing(tmp_path: Path) -> None:
    given = project(tmp_path, MANY)
    values = tmp_path / "charts" / "kyverno" / "values.yaml"
    values.parent.mkdir(parents=True)
    for text in ("", "admissionController: null\n", "a: [\n"):
        values.write_text(text)
        assert extra_args(planned(given), "dev") == {"webhookTimeout": 30}


def rows(given: Project) -> list[Row]:
    options = RenderOptions(tuple(given.environments.values()))
    return [row for row in render_project(given, options).rows if row.check == CHECK]


@pytest.mark.slow
def test_kyverno_of_others_is_told_what_to_set(tmp_path: Path) -> None:
    given = project(tmp_path, MANY, "engine: false, policyType: ClusterPolicy")
    [row] = rows(given)
    assert row.environment == "dev"
    assert row.outcome is Outcome.NOTE
    assert row.message.startswith(f"Kyverno asks {MANY * POD_RULE:,} access reviews")
    assert row.hint
    assert "webhookTimeout: 30" in row.hint


@pytest.mark.slow
def test_the_row_says_how_long_webhooks_wait(tmp_path: Path) -> None:
    given = project(tmp_path, MANY)
    [row] = rows(given)
    assert row.message.endswith("its webhooks wait up to 30 s, those for objects as well")
    assert row.hint is None
    file = tmp_path / "charts" / "kyverno" / "values_dev.yaml"
    file.write_text(file.read_text().replace("webhookTimeout: 30", "webhookTimeout: 0"))
    [row] = rows(given)
    assert "its webhooks wait up to 10 s" in row.message
    assert row.hint
    assert "admissionController.container.extraArgs.webhookTimeout: 30" in row.hint


OTHERS = """\
    - name: nodes
      match:
        any:
          - resources: {kinds: [karpenter.sh/*/NodePool, Service, policy/v1/PodDisruptionBudget]}
      validate: {message: refused, pattern: {metadata: {name: '?*'}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apis", "named"),
    [("", True), ("karpenter.sh/v1: false", True), ("karpenter.sh/v1: true", False)],
)
def test_kinds_that_the_cluster_may_not_serve_are_named(
    tmp_path: Path, apis: str, named: bool
) -> None:
    environment = f"engine: false, policyType: ClusterPolicy, apis: {{{apis}}}"
    _, *found = rows(project(tmp_path, MANY, environment, OTHERS))
    messages = [row.message for row in found]
    start = "many match kinds of karpenter.sh, which Kubernetes does not serve itself"
    assert [each.startswith(start) for each in messages] == [True] * named


@pytest.mark.slow
def test_few_policies_may_name_any_kind(tmp_path: Path) -> None:
    given = project(tmp_path, 1, "engine: false, policyType: ClusterPolicy", OTHERS)
    assert rows(given) == []
