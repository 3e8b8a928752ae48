"""Context files: what CEL policies may ask for."""

import pytest

from chartkit.documents.reader import read_text
from chartkit.engine.cli_files.admissions import UserContext
from chartkit.engine.cli_files.user_files import read_context
from chartkit.engine.cli_files.world import UserImages
from chartkit.errors import InputError, LookupFailed

HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\n"


def read(text: str) -> UserContext:
    (document,) = read_text(text, "context.yaml")
    return read_context(document)


def test_resources_and_images() -> None:
    found = read(
        f"{HEAD}spec:\n  resources: [{{kind: A}}]\n  images: [{{image: nginx, tag: '1'}}]\n"
    )
    assert found.resources == ({"kind": "A"},)
    images = UserImages(found.images)
    assert images.image("nginx") == {
        "image": "nginx",
        "resolvedImage": "",
        "registry": "",
        "repository": "",
        "tag": "1",
    }
    with pytest.raises(LookupFailed, match="image data for other not found in the context"):
        images.image("other")


def test_an_empty_one_holds_nothing() -> None:
    assert read(HEAD) == UserContext()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kind: Values\n", "is not a Context"),
        ("[1]\n", "is not a Context"),
        (f"{HEAD}spec: 1\n", "spec must be a mapping"),
        (f"{HEAD}spec: {{resources: {{}}}}\n", ""),
        (f"{HEAD}spec: {{resources: 1}}\n", "resources must be a list"),
        (f"{HEAD}spec: {{images: [1]}}\n", "must be a mapping"),
        (f"{HEAD}spec: {{images: [{{tag: a}}]}}\n", "has no image"),
    ],
)
def test_what_it_may_not_hold(text: str, error: str) -> None:
    if not error:
        assert read(text) == UserContext()
        return
    with pytest.raises(InputError, match=error):
        read(text)
