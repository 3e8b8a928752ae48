"""References as container registries' tools read them."""

import pytest

from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_reference

_DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("nginx", "index.docker.io", "library/nginx", "latest", ""),
        ("docker.io/a/bc", "index.docker.io", "a/bc", "latest", ""),
        ("r/ab", "index.docker.io", "r/ab", "latest", ""),
        ("r:99/ab:v1", "r:99", "ab", "v1", ""),
        ("http:///ab", "http:", "//ab", "latest", ""),
        ("[::1]/ab", "[::1]", "ab", "latest", ""),
        ("R.io/ab", "R.io", "ab", "latest", ""),
        (f"ghcr.io/ab:v1@{_DIGEST}", "ghcr.io", "ab", "", _DIGEST),
        (f"ab@{_DIGEST}", "index.docker.io", "library/ab", "", _DIGEST),
    ],
)
def test_a_reference_has_its_parts(
    text: str, registry: str, repository: str, tag: str, digest: str
) -> None:
    found = parse_reference(text)
    assert (found.registry, found.repository) == (registry, repository)
    assert (found.tag, found.digest) == (tag, digest)
    assert (found.identifier, str(found)) == (digest or tag, text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "n", "ghcr.io/a", "UPPER/case", "nginx:", "a b", "r.io:port/ab", "host%41/ab"),
        *("user:pw@host/ab", "nginx@sha256:abc", f"ab@{_DIGEST.upper()}", f"a@{_DIGEST}@x"),
        "ab:" + "t" * 129,
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ImageReferenceError, match="could not parse reference: "):
        parse_reference(text)
