"""Each lint rule reports its problematic example and accepts its correct one."""

from pathlib import Path

import pytest

from chartkit.documents.reader import read_file
from chartkit.registration import declarations, modules
from chartkit.values.lint import rules
from chartkit.values.lint.files import check_files, defaults, fix_values
from chartkit.values.lint.rule import Rule, no_moves
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
    if example_chart := rule.texts.get("exampleChart"):
        chart = folder / "chart"
        chart.mkdir()
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text(example_chart)
        (chart / "templates").mkdir()
        (chart / "templates" / "service.yaml").write_text(SERVICE)
    return {each.rule_id for each in check_files([file], chart, False)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_reports_its_problematic_example(tmp_path: Path, rule: Rule) -> None:
    assert rule.id in _ids(tmp_path, rule, rule.texts["problematic"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_accepts_its_correct_example(tmp_path: Path, rule: Rule) -> None:
    assert _ids(tmp_path, rule, rule.texts["correct"]) == set()


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.moves is not no_moves], ids=lambda rule: rule.id
)
def test_a_rule_fixes_its_problematic_example(tmp_path: Path, rule: Rule) -> None:
    text, fixed = fix_values(rule.texts["problematic"], "mine.yaml", defaults(None))
    assert fixed == [rule.id]
    assert rule.id not in _ids(tmp_path, rule, text)


def test_each_rule_is_declared_once_with_its_words() -> None:
    found = (declarations(Rule, vars(module)) for module in modules(rules.__name__))
    declared = sorted(rule.id for of_module in found for rule in of_module)
    (words,) = read_file(Path(rules.__file__).parents[1] / "rules.yaml")
    assert declared == sorted(words.body) == [rule.id for rule in RULES]
    assert len(set(declared)) == len(RULES)
