"""Each lint rule reports its problematic example and accepts its correct one."""

from pathlib import Path

import pytest

from chartkit.registration import modules
from chartkit.values.lint import rules
from chartkit.values.lint.files import check_files, defaults, fix_values
from chartkit.values.lint.rule import Rule
from chartkit.values.lint.rules import RULES

SERVICE = """\
{{ with .Values.service -}}
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {{ toJson . }}
{{- end }}
"""


def _ids(folder: Path, rule: Rule, values: str) -> set[str]:
    file = folder / "mine.yaml"
    file.write_text(values)
    chart = None
    if rule.example_chart:
        chart = folder / "chart"
        chart.mkdir()
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text(rule.example_chart)
        (chart / "templates").mkdir()
        (chart / "templates" / "service.yaml").write_text(SERVICE)
    return {each.rule_id for each in check_files([file], chart, False)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_reports_its_problematic_example(tmp_path: Path, rule: Rule) -> None:
    assert rule.id in _ids(tmp_path, rule, rule.problematic)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_accepts_its_correct_example(tmp_path: Path, rule: Rule) -> None:
    assert _ids(tmp_path, rule, rule.correct) == set()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fixes], ids=lambda rule: rule.id)
def test_a_rule_fixes_its_problematic_example(tmp_path: Path, rule: Rule) -> None:
    text, fixed = fix_values(rule.problematic, "mine.yaml", defaults(None))
    assert fixed == [rule.id]
    assert rule.id not in _ids(tmp_path, rule, text)


def test_each_module_declares_one_rule() -> None:
    declaring = [type(rule).__module__ for rule in RULES]
    assert sorted(declaring) == sorted(module.__name__ for module in modules(rules.__name__))
    assert len({rule.id for rule in RULES}) == len(RULES)
