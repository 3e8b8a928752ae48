"""chartkit.library.templating: what is wrong in a template is said with its line."""

from pathlib import Path

import pytest

from chartkit.errors import RenderError
from chartkit.library.templating import render_text


@pytest.mark.parametrize(
    "expression",
    [
        "- x",
        "x + 1",
        "x()",
        "1 / 0",
        "x.y.z",
        "[1][9]",
        "1 | join(2)",
        "x is",
        "x % 3",
        "x | int + x",
    ],
)
@pytest.mark.parametrize("root", [None, Path()])
def test_an_expression_that_makes_no_sense(expression: str, root: Path | None) -> None:
    with pytest.raises(RenderError) as found:
        render_text(f"a\nb <%= {expression} %>\n", {"x": "text"}, "f.yaml", root)
    assert str(found.value).startswith("f.yaml:2: template: ")


def test_a_loop_without_an_end() -> None:
    with pytest.raises(RenderError, match=r"f\.yaml:1"):
        render_text("<% for i in range(10000000000) %>x<% endfor %>", {}, "f.yaml")
