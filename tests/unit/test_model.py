"""What the shared types look like as texts."""

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, compile_expression
from chartkit.model import Diagnostic, Location, Severity, single_line


def test_a_diagnostic_is_one_line() -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_expression("object.a. == 1 &&\n  true", ENVIRONMENTS["vpol"])
    whole = caught.value.text
    found = str(Diagnostic("cel", Severity.ERROR, whole, Location("a.yaml", 3), "mend it"))
    assert "\n | object.a. == 1 &&\n | ...." in whole
    assert found.startswith("a.yaml:3: error cel: ERROR: <input>:1:11: Syntax error: ")
    assert found.endswith(" (mend it)")
    assert "\n" not in found
    assert " | " not in found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a  b | c", "a  b | c"),
        ("a\n\n  b \n", "a b"),
        ("wrong:\n | x == y\n | ..^\nand worse", "wrong: and worse"),
        ("a  b\n", "a  b"),
        ("", ""),
    ],
)
def test_a_text_on_one_line(text: str, line: str) -> None:
    assert single_line(text) == line
