"""Templates of the generated charts, for those who read them."""

from pathlib import Path

import pytest

from chartkit.documents.reader import parse_yaml

CHARTS = Path(__file__).parents[3] / "charts"
TEMPLATES = sorted(path for path in CHARTS.rglob("templates/**/*") if path.is_file())


@pytest.mark.parametrize(
    "path", [path for path in TEMPLATES if path.suffix == ".tpl"], ids=lambda path: path.name
)
def test_helpers_begin_with_what_they_are(path: Path) -> None:
    head = path.read_text("utf-8").partition("*/}}")[0]
    assert head.startswith("{{/* ")
    assert "values are the interface" in " ".join(head.split())


def test_the_readme_of_the_engine_chart_has_every_value() -> None:
    readme = (CHARTS / "kyverno" / "README.md").read_text("utf-8")
    values = parse_yaml((CHARTS / "kyverno" / "values.yaml").read_text("utf-8"))
    assert values
    for key, value in values.items():
        assert f"\n## {key}\n" in readme or f"\n| `{key}` |" in readme
        for inner in value if isinstance(value, dict) else ():
            assert f"`{key}.{inner}`" in readme or f"| `{key}` |" in readme
