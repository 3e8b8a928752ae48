"""A link that leads nowhere has a row, and everything beside it is judged."""

from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import chartkit

_POLICY = beside(__file__)["policy"]
_TEST = beside(__file__)["test"]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["nowhere.yaml", "broken.yaml"])
@from_table("command", "said")
def test_a_broken_link_is_a_row(tmp_path: Path, command: list[str], said: str, target: str) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "broken.yaml").symlink_to(target)
    (tmp_path / "kyverno-test.yaml").write_text(_TEST)
    done = chartkit(tmp_path, *command)
    assert "broken.yaml" in done.out + done.err
    assert said in done.out, done.out + done.err
    assert done.code in (1, 2)
