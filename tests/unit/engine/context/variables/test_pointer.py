"""The place of a value as a JMESPath."""

import pytest

from chartkit.engine.context.variables.syntax import join_path, own_query


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("", "request.object"),
        ("/validate/message", "request.object"),
        ("/validate/pattern/spec/x", "request.object.spec.x"),
        ("/validate/pattern/spec/containers/0/image", "request.object.spec.containers[0].image"),
        ("/validate/pattern/=(spec)/a-b", 'request.object."=(spec)"."a-b"'),
        ("/validate/pattern/(spec)", 'request.object."(spec)"'),
        ("/validate/pattern/spec)", "request.object.spec)"),
        ("/mutate/foreach/0/patch/metadata/x", "request.object.metadata.x"),
        ("/a/b/team.io\\/owner", 'request.object."team.io/owner"'),
        ("/a/b/größe", 'request.object."größe"'),
    ],
)
def test_own_query(path: str, query: str) -> None:
    assert own_query(path, "request.object") == query


def test_join_path() -> None:
    assert join_path("/a", "b/c") == "/a/b\\/c"
