"""Small charts of policies, as people write them, and their migration."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chartkit.addons.migrate.charts.chart import ChartMigration, KnownTemplates, migrate_chart
from chartkit.addons.migrate.charts.proof import render
from chartkit.helm.model import Target
from chartkit.model import Body
from tests.data import beside

TARGET = Target("release", "default")
VALUES = beside(__file__)["values"]
HOST_PID = "      pattern:\n        spec:\n          =(hostPID): false\n"


def policy(rules: str, settings: str = "", name: str = "{{ .Release.Name }}-p") -> str:
    """Return a template of a policy; settings, rules: the lines of its spec."""
    return (
        "{{- if .Values.enabled }}\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\n"
        f"metadata:\n  name: {name}\nspec:\n{settings}"
        f"  validationFailureAction: {{{{ .Values.action }}}}\n  rules:\n{rules}{{{{- end }}}}\n"
    )


def rule(validate: str, more: str = "") -> str:
    """Return a rule about Pods; validate, more: its lines."""
    return (
        "  - name: r\n    match:\n      any:\n      - resources:\n          kinds: [Pod]\n"
        f"{more}    validate:\n      message: not allowed\n{validate}"
    )


def write_chart(folder: Path, templates: Mapping[str, str], values: str = VALUES) -> Path:
    """Write a chart."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(values)
    for name, text in templates.items():
        (folder / "templates" / name).write_text(text)
    return folder


def migrated(folder: Path, write: bool = True) -> ChartMigration:
    """Return the migration of a chart without requests; write: into the chart itself."""
    migration = migrate_chart(folder, (), TARGET, KnownTemplates(), None)
    if write:
        for file, text in migration.texts.items():
            file.write_text(text)
    return migration


def new_policies(folder: Path, **values: Any) -> list[Body]:
    """Return the policies that a chart renders in CEL."""
    rendered = render(folder, {"policyType": "ValidatingPolicy"} | values, TARGET)
    return [body for bodies in rendered.values() for body in bodies]
