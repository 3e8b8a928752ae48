"""Values of policy-reporter's chart 2.x, as the guides write them."""

import pytest

from chartkit.addons.migrate.values.context import Outcome
from chartkit.addons.migrate.values.run import Migration, migrate
from chartkit.documents.reader import parse_yaml, read_text
from chartkit.values.moved import ENGINE, REPORTER
from tests.data import beside

OLD = beside(__file__)["old"]


def _migrated(text: str, chart: str) -> Migration:
    return migrate(read_text(text, "old.yaml")[0], chart)


def _outcomes(done: Migration) -> dict[str, Outcome]:
    return {step.key: step.outcome for step in done.steps}


def test_the_plugin_and_the_ui() -> None:
    done = _migrated(OLD, REPORTER)
    assert parse_yaml(done.text) == {
        "plugin": {"kyverno": {"enabled": True, "replicaCount": 2}},
        "ui": {"enabled": True, "service": {"type": "NodePort"}},
    }
    assert "# for the dashboard" in done.text
    assert _outcomes(done) == {
        "kyvernoPlugin.enabled": Outcome.MOVED,
        "kyvernoPlugin.replicaCount": Outcome.MOVED,
        "ui.plugins.kyverno": Outcome.REMOVED,
        "target.slack.minimumPriority": Outcome.ASKED,
    }
    assert not done.is_whole


def test_values_of_today_stay() -> None:
    now = "plugin:\n  kyverno:\n    enabled: true\nui:\n  enabled: true\n"
    done = _migrated(now, REPORTER)
    assert (done.text, done.steps) == (now, ())


def test_an_unknown_key_is_asked_about() -> None:
    done = _migrated("pluggin: {a: 1}\n", REPORTER)
    assert _outcomes(done) == {"pluggin": Outcome.ASKED}


def test_values_of_another_chart_are_recognised() -> None:
    done = _migrated(OLD, ENGINE)
    steps = {step.key: step.do for step in done.steps}
    assert "--chart policy-reporter" in steps["kyvernoPlugin"]
    assert "--chart policy-reporter" in steps["ui"]


@pytest.mark.parametrize(("given", "outcome"), [("true", Outcome.ASKED), ("false", Outcome.MOVED)])
def test_a_self_signed_certificate_is_asked_about(given: str, outcome: Outcome) -> None:
    done = _migrated(f"replicaCount: 1\ncreateSelfSignedCert: {given}\n", ENGINE)
    assert _outcomes(done)["createSelfSignedCert"] is outcome
    value = parse_yaml(done.text)["admissionController"]["createSelfSignedCert"]
    assert value is (given == "true")
