"""Policies in files that templates render, behind conditions of named templates, and of APIs."""

from pathlib import Path

import pytest

from chartkit.addons.migrate.charts.proof import render
from chartkit.addons.migrate.charts.pulled import pulled_files
from chartkit.model import Location
from tests.addons.migrate.charts.small import (
    HOST_PID,
    TARGET,
    VALUES,
    migrated,
    new_policies,
    policy,
    rule,
    write_chart,
)

_GET = '{{ tpl (.Files.Get "files/a.yaml") . }}\n'
_GLOB = (
    '{{- range $path, $_ := .Files.Glob "files/*.yaml" }}\n---\n{{ tpl ($.Files.Get $path) $ }}\n'
)
_CONTENT = '{{- range $_, $c := .Files.Glob "files/*" }}\n---\n{{ tpl ($c | toString) $ }}\n'


@pytest.mark.parametrize("text", [_GET, f"{_GLOB}{{{{- end }}}}\n", f"{_CONTENT}{{{{- end }}}}\n"])
def test_files_that_templates_render_get_both_forms(tmp_path: Path, text: str) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    (chart / "files").mkdir()
    names = ("a", "b") if text != _GET else ("a",)
    for name in names:
        own = policy(rule(HOST_PID), name=name)
        (chart / "files" / f"{name}.yaml").write_text(own)
    before = render(chart, {}, TARGET)
    migration = migrated(chart)
    assert migration.left == []
    assert migration.has(Location(str(chart / "templates/p.yaml")))
    assert render(chart, {}, TARGET) == before
    assert [new["metadata"]["name"] for new in new_policies(chart)] == list(names)
    assert "policyType" not in (chart / "templates/p.yaml").read_text()


def test_files_outside_of_the_chart_are_none_of_it(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "c", {})
    (tmp_path / "a.yaml").write_text(policy(rule(HOST_PID)))
    (chart / "bad.yaml").write_bytes(b"\xff")
    (chart / "within.yaml").symlink_to("values.yaml")
    for name in ("../a.yaml", "within.yaml", "bad.yaml", "/etc/hosts", "**a", "none.yaml"):
        text = _GET.replace("files/a.yaml", name)
        assert pulled_files(chart, {chart / "templates/p.yaml": text}) == {}
    (chart / "link.yaml").symlink_to(tmp_path / "a.yaml")
    text = _GET.replace("files/a.yaml", "link.yaml")
    assert pulled_files(chart, {chart / "templates/p.yaml": text}) == {}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/" * 12 + "*.yaml", ["a.yaml"]),
        ("**/" * 40 + "*.yaml", []),
        ("**/" * 100_000, []),
        ("../**", []),
        ("files/*", ["b.yaml"]),
        ("files/?.yaml", ["b.yaml"]),
    ],
)
def test_patterns_of_files_take_linear_time(tmp_path: Path, pattern: str, names: list[str]) -> None:
    chart = write_chart(tmp_path / "c", {})
    deep = chart / "files" / "/".join("d" * 25)
    deep.mkdir(parents=True)
    for file in (deep / "a.yaml", chart / "files/b.yaml"):
        file.write_text("a: 1\n")
    template = chart / "templates/p.yaml"
    files = pulled_files(chart, {template: _GLOB.replace("files/*.yaml", pattern)})
    assert files == dict.fromkeys(files, template)
    assert [file.name for file in files] == names


def test_a_condition_in_a_named_template_stands_around_the_new_form(tmp_path: Path) -> None:
    body = policy(rule(HOST_PID), name="{{ .name }}").replace(".Values.action", ".of.action")
    body = body.replace(".Values.enabled", ".of.enabled")
    helper = f'{{{{- define "small.policy" -}}}}\n{body}{{{{- end }}}}\n'
    text = "".join(
        f'---\n{{{{ include "small.policy" (dict "name" "{name}" "of" .Values.{name}) }}}}\n'
        for name in ("a", "b")
    )
    values = "a: {enabled: true, action: Audit}\nb: {enabled: false, action: Enforce}\n"
    chart = write_chart(tmp_path / "c", {"_p.tpl": helper, "p.yaml": text}, values)
    assert migrated(chart).left == []
    assert "{{- if .Values.a.enabled }}" in (chart / "templates/p.yaml").read_text()
    assert [new["metadata"]["name"] for new in new_policies(chart)] == ["a"]
    (_, new) = new_policies(chart, b={"enabled": True})
    assert new["spec"]["validationActions"] == ["Deny"]


def test_a_policy_behind_the_api_of_its_objects_is_proved(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID)).replace(
        ".Values.enabled", '.Capabilities.APIVersions.Has "example.com/v1"'
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, VALUES)
    assert migrated(chart).left == []
    assert new_policies(chart) == []
