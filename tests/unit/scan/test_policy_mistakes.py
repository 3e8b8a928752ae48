"""Mistakes in policies: each is one diagnostic with its line, its column and what was meant."""

from pathlib import Path

import pytest

from chartkit.errors import ChartkitError
from chartkit.scan.policies import load_policies
from tests.data import beside

_TEXTS = beside(__file__)
RULES = _TEXTS["rules"]
CEL = _TEXTS["cel"]

MISTAKES = [
    # Keys.
    (RULES, "      validate:", "      validat:", "25:7", "validate"),
    (RULES, "  rules:", "  rule:", "8:3", "rules"),
    (RULES, "  background:", "  backgroud:", "7:3", "background"),
    (RULES, "      match:", "      mach:", "10:7", "match"),
    (RULES, "- resources:", "- resource:", "12:13", "resources"),
    (RULES, "kinds:", "kind:", "13:15", "kinds"),
    (RULES, "          variable:", "          varible:", "18:11", "variable"),
    (RULES, "conditions:\n            any", "condition:\n            any", "28:11", "conditions"),
    (CEL, "resourceRules", "resourceRule", "8:5", "resourceRules"),
    (CEL, "      expression: >-", "      expresion: >-", "18:7", "expression"),
    # Values, kinds and groups.
    (RULES, ": Audit", ": Audti", "6:3", "Audit"),
    (RULES, "operator: Equals", "operator: Equal2", "23:13", "Equal"),
    (RULES, "operator: AnyIn", "operator: AnyInn", "36:17", "AnyIn"),
    (RULES, "- Pod\n", "- Podd\n", "14:19", "Pod"),
    (RULES, "- Deployment", "- apps/v1/Deploymnt", "15:19", "Deployment"),
    (RULES, "- Pod\n", "- pods\n", "14:19", "Pod"),
    (RULES, "kind: ClusterPolicy", "kind: ClusterPolcy", "2:1", "ClusterPolicy"),
    (RULES, "kyverno.io/v1", "kyvern.io/v1", "1:1", "kyverno.io"),
    (RULES, "kyverno.io/v1", "kyverno.io/v3", "1:1", "kyverno.io/v1"),
    (CEL, "kind: ValidatingPolicy", "kind: ValidatngPolicy", "2:1", "ValidatingPolicy"),
    (CEL, "policies.kyverno.io/v1", "policies.kyverno.io/v2", "1:1", "policies.kyverno.io/v1"),
    (CEL, "[Audit]", "[Audti]", "6:23", "Audit"),
    (CEL, "[pods]", "[pods, deployment]", None, None),
    (CEL, "[pods]", "[pods, pod]", "12:27", "pods"),
    (CEL, '[""]', '["", apps]', None, None),
    # JMESPath.
    (RULES, "teams.team || ''", "temas.team || ''", "30:26", "teams"),
    (RULES, "teams.team || ''", "teams.team ||", "30:39", None),
    (RULES, "teams.team || ''", "teams.team || ]", "30:40", None),
    (RULES, "'none') }}", "'none' }}", None, None),
    (RULES, "to_upper", "too_upper", "34:22", "to_upper"),
    (RULES, "{{ teams.x }}", "{{ temas.x }}", "37:35", "teams"),
    (RULES, ": {{ teams.team }}", ": {{ tems.team }}", "26:36", "teams"),
    # CEL.
    (CEL, "object.metadata", "object.metdata", "15:26", "metadata"),
    (CEL, "in variables.labels", "in variables.lables", "19:28", "labels"),
    (CEL, "variables.labels\n", "variables.labels &&& true\n", "19:38", None),
    (CEL, "< 9", "<> 9", "23:35", None),
    (CEL, "size(variables", "siz(variables", "23:14", "size"),
    (CEL, "'team' in variables.labels", "variables.labels.startWith('a')", "19:35", "startsWith"),
    (CEL, "variables.labels.team'", "variabls.labels.team'", "20:39", "variables"),
    (CEL, "'team' in variables.labels", "size(variables.labels)", "18:7", None),
]


@pytest.mark.parametrize(("policy", "right", "wrong", "place", "meant"), MISTAKES)
def test_a_policys_mistake_is_one_line_with_its_place(
    tmp_path: Path, policy: str, right: str, wrong: str, place: str | None, meant: str | None
) -> None:
    assert right in policy
    file = tmp_path / "policy.yaml"
    file.write_text(policy.replace(right, wrong, 1))
    try:
        found = load_policies([str(file)], {})
    except ChartkitError as error:
        texts = [str(error)]
    else:
        texts = [str(each) for each in (*found.diagnostics, *found.warnings)]
    if place is not None:
        assert [text.removeprefix(str(file)).split(": ")[0] for text in texts] == [f":{place}"]
        assert (f"did you mean '{meant}'?" in texts[0]) is (meant is not None)
        assert "did you mean" not in texts[0] or meant is not None


@pytest.mark.parametrize("policy", [RULES, CEL])
def test_policies_without_mistakes_are_without_diagnostics(tmp_path: Path, policy: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(policy)
    found = load_policies([str(file)], {})
    assert (found.diagnostics, found.warnings) == ((), ())
