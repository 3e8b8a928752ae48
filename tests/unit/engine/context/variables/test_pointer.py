"""The place of a value as a JMESPath."""

from chartkit.engine.context.variables.syntax import join_path, own_query
from tests.data import from_table


@from_table("path", "query")
def test_own_query(path: str, query: str) -> None:
    assert own_query(path, "request.object") == query


def test_join_path() -> None:
    assert join_path("/a", "b/c") == "/a/b\\/c"
