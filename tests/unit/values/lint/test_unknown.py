"""CK010: keys that a chart without a schema does not know."""

import pytest

from chartkit.documents.reader import read_text
from chartkit.values.lint import ChartValues, Stage, lint

DEFAULTS = """\
replicas: 1
empty: {}
nothing: null
controller:
  podLabels: {a: b}
  resources: {limits: {memory: 1Gi}}
  metering: {disabled: false, port: 8000}
features:
  logging: {verbosity: 2}
"""


def findings(overlay: str) -> list[str]:
    (defaults,), (values,) = read_text(DEFAULTS, "values.yaml"), read_text(overlay, "mine.yaml")
    return [str(each) for each in lint(ChartValues(defaults, (values,), None, {}), Stage.VALUES)]


@pytest.mark.parametrize(
    ("overlay", "name", "place", "hint"),
    [
        ("replica: 2", "replica", "1:1", "did you mean 'replicas'?"),
        ("zzz: 2", "zzz", "1:1", "Helm takes any key"),
        ("controller:\n  metering:\n    prt: 1", "controller.metering.prt", "3:5", "'port'?"),
        ("features: {loging: {}}", "features.loging", "1:12", "did you mean 'logging'?"),
    ],
)
def test_unknown(overlay: str, name: str, place: str, hint: str) -> None:
    (found,) = findings(overlay)
    assert found.startswith(f"mine.yaml:{place}: ")
    assert f"no key '{name}'" in found
    assert hint in found


@pytest.mark.parametrize(
    "overlay",
    [
        "replicas: 2",
        "global: {x: 1}",
        "empty: {x: {y: 1}}",
        "nothing: {x: 1}",
        "controller: {podLabels: {x: y}, resources: {limits: {cpu: 1}}}",
        "controller: {metering: null}",
    ],
)
def test_known(overlay: str) -> None:
    assert not [each for each in findings(overlay) if "no key" in each]
