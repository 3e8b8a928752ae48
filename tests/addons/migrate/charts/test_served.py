"""Templates that ask which APIs a cluster serves: each form asks for its own."""

from pathlib import Path

import pytest

from chartkit.addons.migrate.charts.chart import ChartMigration, KnownTemplates, migrate_chart
from chartkit.addons.migrate.charts.proof import render
from chartkit.helm.model import Target
from tests.addons.migrate.charts.small import policy, rule, write_chart

OLD, NEW = "kyverno.io/v1", "policies.kyverno.io/v1"
RULES = rule("      pattern:\n        spec:\n          =(hostPID): false\n")
HAS = f'.Capabilities.APIVersions.Has "{OLD}"'


def _migrated(folder: Path) -> ChartMigration:
    migration = migrate_chart(folder, (), _target(OLD, NEW), KnownTemplates(), None)
    for file, text in migration.texts.items():
        file.write_text(text)
    return migration


def _target(*served: str) -> Target:
    return Target("release", "default", api_versions=served)


def _kinds(folder: Path, form: str, *served: str) -> list[str]:
    rendered = render(folder, {"policyType": form}, _target(*served))
    return [body["kind"] for bodies in rendered.values() for body in bodies]


@pytest.mark.parametrize(
    "condition", [HAS, f"and .Values.enabled ({HAS})", f"or ({HAS}) .Values.always"]
)
def test_each_form_asks_for_its_own_api(tmp_path: Path, condition: str) -> None:
    text = policy(RULES).replace("{{- if .Values.enabled }}", f"{{{{- if {condition} }}}}")
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    migration = _migrated(chart)
    assert not migration.left
    assert [(place.file, place.line) for place in migration.served] == [
        (str(chart / "templates" / "p.yaml"), 1)
    ]
    assert _kinds(chart, "ValidatingPolicy", NEW) == ["ValidatingPolicy"]
    assert _kinds(chart, "ValidatingPolicy", OLD) == []
    assert _kinds(chart, "ClusterPolicy", OLD) == ["ClusterPolicy"]
    assert _kinds(chart, "ClusterPolicy", NEW) == []
    assert _kinds(chart, "both", OLD, NEW) == ["ClusterPolicy", "ValidatingPolicy"]


_CHAIN = f'{{{{ define "a9" }}}}{{{{ include "a0" . }}}}{{{{ {HAS} }}}}{{{{ end }}}}\n' + "".join(
    f'{{{{ define "a{at}" }}}}{{{{ include "a{at + 1}" . }}}}{{{{ end }}}}\n' for at in range(9)
)
"""Named templates that include each other, in a circle."""


@pytest.mark.parametrize(
    ("before", "opening"),
    [
        ("", f"{{{{- if not ({HAS}) }}}}{{{{- else }}}}"),
        ("", f"{{{{- if or (not ({HAS})) .Values.enabled }}}}"),
        ("", '{{- if lookup "v1" "CustomResourceDefinition" "" "clusterpolicies.kyverno.io" }}'),
        (f"{{{{- $has := {HAS} }}}}\n", "{{- if $has }}"),
        (f'{{{{- define "has" }}}}{{{{ {HAS} }}}}{{{{ end }}}}\n', '{{- if include "has" . }}'),
        (_CHAIN, '{{- if include "a0" . }}'),
        ("", f'{{{{- if has "{OLD}" .Capabilities.APIVersions }}}}'),
    ],
)
def test_a_condition_that_cannot_ask_for_both_is_named(
    tmp_path: Path, before: str, opening: str
) -> None:
    text = before + policy(RULES).replace("{{- if .Values.enabled }}", opening)
    migration = _migrated(write_chart(tmp_path / "c", {"p.yaml": text}))
    ((place, reason),) = migration.left
    assert place.line == 1 + before.count("\n")
    assert "would go with the API kyverno.io" in reason
    assert not migration.texts


def test_a_policy_that_stays_keeps_the_condition(tmp_path: Path) -> None:
    staying = "---\n" + policy(RULES.replace("[Pod]", "[Pod]\n{{ . }}"), name="q").replace(
        "{{- if .Values.enabled }}\n", ""
    ).replace("{{- end }}\n", "")
    opening = f"{{{{- if {HAS} }}}}"
    text = policy(RULES).replace("{{- if .Values.enabled }}", opening)
    text = text.replace("{{- end }}\n", f"{staying}{{{{- end }}}}\n")
    migration = _migrated(write_chart(tmp_path / "c", {"p.yaml": text}))
    assert not migration.texts
    assert "give the latter a template of its own" in migration.left[0][1]


@pytest.mark.parametrize(
    "version", ['{{ include "api" . }}', "{{ .Values.version }}", f"{OLD}  # old"]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_version_may_come_from_values(tmp_path: Path, version: str, is_first: bool) -> None:
    text = policy(RULES).replace(f"apiVersion: {OLD}", f"apiVersion: {version}")
    if not is_first and "{{" not in version:
        text = text.replace("kind: ClusterPolicy\n", "", 1)
        text = text.replace("apiVersion:", "kind: ClusterPolicy\napiVersion:", 1)
    helper = f'{{{{- define "api" -}}}}\n{OLD}\n{{{{- end -}}}}\n'
    files = {"p.yaml": text, "_helpers.tpl": helper}
    chart = write_chart(tmp_path / "c", files, f"enabled: true\naction: Audit\nversion: {OLD}\n")
    assert not _migrated(chart).left
    assert _kinds(chart, "both") == ["ClusterPolicy", "ValidatingPolicy"]
    assert not _migrated(chart).texts


def test_a_check_that_stops_helm_without_the_old_api_is_named(tmp_path: Path) -> None:
    check = f'\n{{{{- if not ({HAS}) }}}}\n  {{{{- fail "Kyverno is missing" }}}}\n{{{{- end }}}}\n'
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(RULES), "check.yaml": check})
    for _ in range(2):
        (place,) = _migrated(chart).checks
        assert (Path(place.file).name, place.line) == ("check.yaml", 2)
