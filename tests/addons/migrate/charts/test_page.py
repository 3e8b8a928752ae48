"""The example of docs/how-to/migrate-policies.md is what a chart gets."""

import re
from pathlib import Path

from tests.addons.migrate.charts.small import migrated, new_policies, write_chart
from tests.data import beside

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "migrate-policies.md"
VALUES = beside(__file__)["values"]


def test_the_example_of_the_page(tmp_path: Path) -> None:
    section = PAGE.read_text("utf-8").partition("### Templates of charts")[2]
    before, after = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)[:2]
    chart = write_chart(tmp_path / "team", {"p.yaml": before}, VALUES)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: team\nversion: 1.0.0\n")
    assert not migrated(chart).left
    assert (chart / "templates" / "p.yaml").read_text().endswith(after)
    (new,) = new_policies(chart, names=["debug", "sh*"])
    assert "startsWith" in new["spec"]["validations"][0]["expression"]
