"""Values of upstream's chart of policies, as profiles and settings."""

import pytest

from chartkit.addons.operate.adopt.chart_values import chart_settings
from chartkit.addons.operate.adopt.model import Estate, Outcome
from chartkit.documents.reader import read_file, read_text
from tests.addons.operate.adopt.conftest import POLICY, VERSIONS, Team
from tests.data import beside, from_table

_CHART_VALUES = beside(__file__)["chart-values"]


@pytest.mark.slow
def test_values_of_the_chart_of_policies_become_profiles_and_settings(team: Team) -> None:
    team.write(values=_CHART_VALUES)
    code, body = team.adopt("values.yaml", *VERSIONS)
    assert (code, team.rows(body, "left")) == (0, [])
    assert (
        "kyverno-policies",
        "14 policies come from chartkit's library, in place of upstream's",
    ) in (team.rows(body, "changed"))
    environment = read_file(team.folder / "out/chartkit.yaml")[0].body["environments"]["prd"]
    assert environment["profiles"] == ["pss-baseline", "./profiles/adopted.yaml"]
    assert (environment["action"], environment["policyType"]) == ("Enforce", "ClusterPolicy")
    assert environment["actions"] == [{"action": "Audit", "namespaces": ["legacy"]}]
    assert environment["policies"] == {
        "disallow-host-path": {"action": "Audit"},
        "disallow-host-ports": {"actions": [{"action": "Audit", "namespaces": ["edge"]}]},
        "disallow-selinux": {"exclude": [{"kinds": ["Pod"], "namespaces": ["csi"]}]},
    }
    profile = read_file(team.folder / "out/profiles/adopted.yaml")[0].body["spec"]
    added = ["other/require-non-root-groups", "restricted/restrict-volume-types"]
    assert list(profile["policies"]) == added


@from_table("values", "key", "reason")
def test_values_of_the_chart_of_policies_that_are_not_taken_are_named(
    values: str, key: str, reason: str
) -> None:
    _, rows = chart_settings(Estate("prd", chart_values=read_text(values)), ())
    [left] = [each for each in rows if each.outcome is Outcome.LEFT]
    assert left.subject == f"{key} of kyverno-policies"
    assert reason in left.message


@pytest.mark.slow
def test_policies_in_use_go_before_values_of_their_chart(team: Team) -> None:
    team.write(
        values="podSecurityStandard: restricted\n",
        legacy__p=POLICY.replace("require-team", "disallow-host-path"),
    )
    code, body = team.adopt("values.yaml", "legacy", *VERSIONS)
    assert code == 0
    assert "are taken as they are" in dict(team.rows(body, "note"))["values of kyverno-policies"]
    body = read_file(team.folder / "out/chartkit.yaml")[0].body
    assert "profiles" not in body["environments"]["prd"]
