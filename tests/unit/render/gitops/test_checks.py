"""Values of the engine that go wrong with a deployer."""

from pathlib import Path

import pytest

from chartkit.project.project import read_project
from chartkit.render.model import Outcome
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import from_table

PROJECT = """\
profiles: [pss-baseline]
environments:
  prd: {kyverno: "1.19", kubernetes: "1.34", engineValues: [own.yaml]}
"""


@pytest.mark.slow
@from_table("values", "deployers", "messages")
def test_values_that_go_wrong_are_named(
    tmp_path: Path, values: str, deployers: list[str], messages: list[str]
) -> None:
    (tmp_path / "own.yaml").write_text(values)
    (tmp_path / "chartkit.yaml").write_text(PROJECT)
    project = read_project(tmp_path)
    options = RenderOptions(
        tuple(project.environments.values()), check=True, gitops=tuple(deployers)
    )
    found = [row for row in render_project(project, options).rows if row.check == "gitops"]
    assert [row.outcome for row in found] == [Outcome.WARNING] * len(messages)
    for row, message in zip(found, messages, strict=True):
        assert row.message.startswith(message)
        assert row.location is not None
        assert row.location.path.split("/")[1] in values
