"""Where variables stand in a text."""

from chartkit.engine.context.variables import has_variable
from chartkit.engine.context.variables.syntax import find_variables, split_text, unescape
from tests.data import from_table


@from_table("text", "queries")
def test_find_variables(text: str, queries: list[str]) -> None:
    variables = find_variables(text)
    assert [variable.query for variable in variables] == queries
    assert has_variable(text) is bool(queries)
    assert len(split_text(text, variables)) == len(queries) + 1


def test_syntax_shallow() -> None:
    (plain,), (shallow,) = find_variables("{{ a }}"), find_variables("{{-a}}")
    assert (plain.shallow, shallow.shallow) == (False, True)
    assert shallow.query == "a"


def test_syntax_unescape() -> None:
    assert unescape("a \\{{ b }} {{") == "a {{ b }} {{"


def test_long_texts_are_quick() -> None:
    assert find_variables("{{" + "a" * 100_000) == []
    assert find_variables("{{ {" * 20_000) == []
