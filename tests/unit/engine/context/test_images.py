"""The variable `images`."""

import pytest

from chartkit.engine.cluster_policy.verify_images.signed import compile_extractors
from chartkit.engine.context.context import NOTHING, Context, ImagesLoader, has_images
from chartkit.engine.context.images import extract_images
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json


def _pod(**spec: Json) -> Body:
    return {"kind": "Pod", "spec": spec}


def test_images_of_a_pod() -> None:
    pod = _pod(
        containers=[{"name": "web", "image": "ghcr.io/org/web:v1"}, {"name": "none"}],
        initContainers=[{"name": "init", "image": "busybox"}],
    )
    images = extract_images(pod)
    assert images["containers"] == {
        "web": {
            "registry": "ghcr.io",
            "name": "web",
            "path": "org/web",
            "tag": "v1",
            "reference": "ghcr.io/org/web:v1",
            "referenceWithTag": "ghcr.io/org/web:v1",
            "jsonPointer": "/spec/containers/0/image",
        }
    }
    assert images["initContainers"]["init"]["reference"] == "docker.io/busybox:latest"
    assert "ephemeralContainers" not in images


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("Deployment", ("spec", "template", "spec")),
        ("Job", ("spec", "template", "spec")),
        ("CronJob", ("spec", "jobTemplate", "spec", "template", "spec")),
    ],
)
def test_images_of_controllers(kind: str, steps: tuple[str, ...]) -> None:
    body: Json = {"containers": [{"name": "c", "image": "a"}]}
    for step in reversed(steps):
        body = {step: body}
    resource = {"kind": kind, **body}
    assert has_images(resource)
    pointer = extract_images(resource)["containers"]["c"]["jsonPointer"]
    assert pointer == "/" + "/".join(steps) + "/containers/0/image"


def test_other_kinds_have_none() -> None:
    resource = {"kind": "ConfigMap", "spec": {"containers": [{"name": "c", "image": "a"}]}}
    assert not has_images(resource)
    assert ImagesLoader(resource).fetch(Context({})) is NOTHING


@pytest.mark.parametrize("kind", [None, 1, 1.5, True, [], ["Pod"], {}, {"kind": "Pod"}])
def test_a_kind_that_is_no_text_has_none(kind: Json) -> None:
    """JSON that is not an object of Kubernetes' may have anything there."""
    resource = {"kind": kind, "spec": {"containers": [{"name": "c", "image": "a"}]}}
    assert not has_images(resource)
    assert extract_images(resource) == {}
    extract = compile_extractors({"Pod": [{"path": "/spec/containers/*/image"}]})
    assert extract(resource) == {}


@pytest.mark.parametrize(
    ("containers", "message"),
    [
        ([{"name": "c", "image": "A"}], "^invalid image 'A' \\(bad image: docker.io/A, "),
        ([{"image": "a"}], "^invalid key$"),
        ("c", "^invalid image config$"),
        ({"c": ["a"]}, "^invalid image config$"),
    ],
)
def test_images_faults(containers: Json, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        extract_images(_pod(containers=containers))


def test_containers_that_are_no_objects_are_passed_over() -> None:
    container = {"name": "c", "image": "a"}
    images = extract_images(_pod(containers=["x", None, 5, [[container]], container]))
    assert images["containers"]["c"]["jsonPointer"] == "/spec/containers/4/image"
    images = extract_images(_pod(containers={"x": "y", "z": container}))
    assert images["containers"]["c"]["jsonPointer"] == "/spec/containers/z/image"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("images.containers", True),
        ("length(images)", True),
        ("request.images", False),
        ("myimages", False),
        ("images2", False),
    ],
)
def test_images_matches(query: str, names: bool) -> None:
    assert ImagesLoader({}).matches(query) is names
