"""The old values files of these tests, and what the chart makes of their new values."""

import json
from functools import cache
from pathlib import Path

from chartkit.addons.migrate.values.context import Outcome
from chartkit.addons.migrate.values.run import Migration, migrate
from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.plan import ChartPlan
from chartkit.documents.reader import Document, read_text
from chartkit.helm.render import render_chart
from chartkit.kyverno.versions import parse_version
from chartkit.model import Body, Resource
from chartkit.schemas import json_schema

OLD = Path(__file__).parent / "old"
VERSIONS = ("2.0", "2.3", "2.4", "2.6", "2.7")
CONTROLLERS = ("admission", "background", "cleanup", "reports")


def document(text: str, file: str = "old.yaml") -> Document:
    (found,) = read_text(text, file)
    return found


def migrated(text: str, given: str | None = None, chart: str = "kyverno") -> Migration:
    version = parse_version(given, "the chart") if given else None
    return migrate(document(text), chart, version)


def body(migration: Migration) -> Body:
    found = read_text(migration.text, "new.yaml")
    values: Body = found[0].body if found else {}
    return values


def outcomes(migration: Migration) -> dict[str, str]:
    """What became of each key, in one word."""
    return {step.key: str(step.outcome) for step in migration.steps}


def asked(migration: Migration) -> set[str]:
    return {step.key for step in migration.steps if step.outcome is Outcome.ASKED}


@cache
def chart() -> ChartPlan:
    return engine_chart.plan({}, ">=1.33-0 <1.36-0")


def refused(text: str) -> list[str]:
    """What the chart's schema says of new values."""
    rules: Body = json.loads(chart().files["values.schema.json"])
    found = document(text, "new.yaml")
    ignored = frozenset({"required"})
    return [str(each) for each in json_schema.violations(found, rules, None, ignored)]


@cache
def old(version: str) -> Migration:
    return migrated((OLD / f"{version}.yaml").read_text("utf-8"))


@cache
def rendered(version: str) -> dict[tuple[str, str], Resource]:
    """What Helm makes of the new values, hooks among it, by kind and name."""
    new = document(old(version).text, "new.yaml")
    done = render_chart(
        chart(),
        [new],
        release="kyverno",
        namespace="kyverno",
        api_versions=("monitoring.coreos.com/v1",),
    )
    return {(each.kind, each.name): each for each in (*done.resources, *done.hooks)}


def deployment(version: str, controller: str) -> Body:
    found: Body = rendered(version)["Deployment", f"kyverno-{controller}-controller"].body["spec"]
    return found


def pod(version: str, controller: str) -> Body:
    found: Body = deployment(version, controller)["template"]
    return found


def container(version: str, controller: str) -> Body:
    """The main container, which is the last one."""
    found: Body = pod(version, controller)["spec"]["containers"][-1]
    return found


def config(version: str, name: str) -> Body:
    found: Body = rendered(version)["ConfigMap", name].body["data"]
    return found
