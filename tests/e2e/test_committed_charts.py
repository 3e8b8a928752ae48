"""The charts in this repository are what `chartkit render` writes."""

import pytest

from tests.e2e.command import chartkit
from tests.shared import ROOT


@pytest.mark.slow
def test_the_committed_charts_have_not_drifted_and_pass() -> None:
    done = chartkit(ROOT, "render", "--check")
    assert done.code == 0, done.out + done.err
    assert done.out.endswith("the charts have not drifted\n")
