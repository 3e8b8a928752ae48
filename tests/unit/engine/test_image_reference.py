"""Image references and Kyverno's defaults."""

from __future__ import annotations

import pytest

from chartkit.engine.image_reference import ImageReferenceError, parse_image, resolve_image

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "registry", "path", "name", "tag", "digest"),
    [
        ("nginx", "docker.io", "nginx", "nginx", "latest", ""),
        ("library/nginx:1", "docker.io", "library/nginx", "nginx", "1", ""),
        ("ghcr.io/org/web:v1", "ghcr.io", "org/web", "web", "v1", ""),
        ("localhost/web", "localhost", "web", "web", "latest", ""),
        ("localhost:5000/a/b", "localhost:5000", "a/b", "b", "latest", ""),
        ("[::1]:5000/a", "[::1]:5000", "a", "a", "latest", ""),
        (f"nginx@{DIGEST}", "docker.io", "nginx", "nginx", "", DIGEST),
        (f"r.io/nginx:1@{DIGEST}", "r.io", "nginx", "nginx", "1", DIGEST),
        ("a__b/c-d.e", "docker.io", "a__b/c-d.e", "c-d.e", "latest", ""),
    ],
)
def test_resolved(text: str, registry: str, path: str, name: str, tag: str, digest: str) -> None:
    image = resolve_image(text)
    assert (image.registry, image.path, image.name) == (registry, path, name)
    assert (image.tag, image.digest) == (tag, digest)


def test_references() -> None:
    image = resolve_image(f"r.io/nginx:1@{DIGEST}")
    assert image.reference == f"r.io/nginx@{DIGEST}"
    assert image.reference_with_tag == "r.io/nginx:1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "repository name must have at least one component"),
        ("Nginx", "repository name must be lowercase"),
        ("ng inx", "invalid reference format"),
        ("a:b:c", "invalid reference format"),
        ("a@sha256:" + "a" * 63, "invalid checksum digest length"),
        ("a@sha256:" + "A" * 64, "invalid checksum digest format"),
        ("a@md5:" + "a" * 32, "unsupported digest algorithm"),
        ("a" * 256, "repository name must not be more than 255 characters"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ImageReferenceError, match=f"^{message}$"):
        parse_image(text)


def test_resolve_says_what_was_tried() -> None:
    with pytest.raises(ImageReferenceError, match=r"^bad image: docker.io/A, defaultRegistry: d"):
        resolve_image("A")
