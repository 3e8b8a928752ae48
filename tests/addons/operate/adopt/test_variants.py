"""Policies that differ between environments, as settings."""

import pytest

from chartkit.documents.reader import read_file
from chartkit.model import Body
from tests.addons.operate.adopt.conftest import POLICY, VERSIONS, Team
from tests.data import beside

pytestmark = pytest.mark.slow

_OVERRIDES = (
    '  validationFailureActionOverrides:\n    - {action: Enforce, namespaces: ["payments-*"]}\n'
)
_PLAIN = POLICY.replace(_OVERRIDES, "")
_EXCLUDE = "      exclude: {any: [BLOCKS]}\n      validate:"
_LEGACY = "{resources: {namespaces: [legacy]}}"
_OLD = "{resources: {kinds: [Deployment], names: [old-*]}}"
_PAYMENTS = {"action": "Audit", "actions": [{"action": "Enforce", "namespaces": ["payments-*"]}]}


def _excluding(text: str, *blocks: str) -> str:
    return text.replace("      validate:", _EXCLUDE.replace("BLOCKS", ", ".join(blocks)))


@pytest.mark.parametrize(
    ("prd", "qa", "settings"),
    [
        (_PLAIN, POLICY, {"qa": _PAYMENTS}),
        (POLICY, _PLAIN, {"prd": _PAYMENTS}),
        (_PLAIN, _excluding(_PLAIN, _LEGACY), {"qa": {"exclude": [{"namespaces": ["legacy"]}]}}),
        (
            _excluding(_PLAIN, _LEGACY, _OLD),
            _excluding(_PLAIN, _LEGACY),
            {"prd": {"exclude": [{"kinds": ["Deployment"], "names": ["old-*"]}]}},
        ),
        (
            _PLAIN,
            _excluding(_PLAIN.replace("Audit", "Enforce"), _LEGACY),
            {"qa": {"action": "Enforce", "exclude": [{"namespaces": ["legacy"]}]}},
        ),
    ],
)
def test_settings_make_the_variants_of_a_policy(
    team: Team, prd: str, qa: str, settings: dict[str, Body]
) -> None:
    """No environment's policy is otherwise afterwards, but for the form of overrides."""
    team.write(prd__p=prd, qa__p=qa)
    code, body = team.adopt("--env", "prd=prd", "--env", "qa=qa", *VERSIONS)
    assert (code, team.rows(body, "left")) == (0, [])
    given = read_file(team.folder / "out/chartkit.yaml")[0].body["environments"]
    found = {name: each.get("policies", {}).get("require-team") for name, each in given.items()}
    assert {name: each for name, each in found.items() if each} == settings
    fields = [each for subject, each in team.rows(body, "changed") if subject != "metadata"]
    assert all("validationFailureActionOverrides" in each for each in fields), fields
    assert bool(fields) == (_PAYMENTS in settings.values())


_HISTORY = beside(__file__)["history"]


def test_values_that_a_parameter_of_a_library_takes_are_taken(team: Team) -> None:
    """The policy of the library is shown to mean the same with the values of each."""
    team.write(prd__p=_HISTORY, qa__p=_HISTORY.replace("=5", "=3"))
    code, body = team.adopt("--env", "prd=prd", "--env", "qa=qa", *VERSIONS)
    assert (code, team.rows(body, "left")) == (0, [])
    given = read_file(team.folder / "out/chartkit.yaml")[0].body
    found = {name: each["policies"] for name, each in given["environments"].items()}
    assert found == {
        "prd": {"limit-revision-history": {"action": "Audit", "parameters": {"maximum": 5}}},
        "qa": {"limit-revision-history": {"action": "Audit", "parameters": {"maximum": 3}}},
    }
    assert (given["defaults"]["policyType"], "library" in given) == ("ClusterPolicy", False)
    profile = read_file(team.folder / "out/profiles/adopted.yaml")[0].body
    assert [*profile["spec"]["policies"]] == ["chartkit/eks-best-practices/limit-revision-history"]


@pytest.mark.parametrize(
    "other",
    [
        _excluding(_PLAIN, "{subjects: [{kind: User, name: a}]}"),
        _PLAIN.replace("      validate:", f"      exclude: {{all: [{_LEGACY}]}}\n      validate:"),
        _PLAIN.replace("      validate:", "      preconditions: {all: []}\n      validate:"),
    ],
)
def test_variants_that_no_settings_make_are_left(team: Team, other: str) -> None:
    team.write(prd__p=_PLAIN, qa__p=other)
    code, body = team.adopt("--env", "prd=prd", "--env", "qa=qa", *VERSIONS)
    subjects = [subject for subject, _ in team.rows(body, "left")]
    assert (code, subjects) == (1, ["ClusterPolicy require-team"])


def test_a_value_of_many_digits_is_no_parameters(team: Team) -> None:
    team.write(prd__p=_HISTORY, qa__p=_HISTORY.replace("=5", "=" + "9" * 5000))
    code, body = team.adopt("--env", "prd=prd", "--env", "qa=qa", *VERSIONS)
    subjects = [subject for subject, _ in team.rows(body, "left")]
    assert (code, subjects) == (1, ["ClusterPolicy limit-revision-history"])
