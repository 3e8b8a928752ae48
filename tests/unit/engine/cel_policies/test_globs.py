"""Globs of images."""

import pytest

from chartkit.engine.cel_policies.image_host import GlobError, compile_glob


@pytest.mark.parametrize(
    ("glob", "text", "fits"),
    [
        ("*", "ghcr.io/a/b:1", True),
        ("ghcr.io/*", "ghcr.io/a/b:1", True),
        ("ghcr.io/?:1", "ghcr.io/a:1", True),
        ("ghcr.io", "ghcr.io/a", False),
        ("{a,b}/c", "b/c", True),
        ("[a-c]/x", "b/x", True),
        ("[!a-c]/x", "b/x", False),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("a.b", "axb", False),
        ("{a", "a", True),
    ],
)
def test_globs(glob: str, text: str, fits: bool) -> None:
    assert compile_glob(glob)(text) is fits


@pytest.mark.parametrize("glob", ["[a", "a\\"])
def test_globs_that_end_too_soon(glob: str) -> None:
    with pytest.raises(GlobError, match="unexpected end of input"):
        compile_glob(glob)
