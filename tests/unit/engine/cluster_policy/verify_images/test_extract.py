"""The images that a rule's extractors find in objects of any kind."""

import pytest

from chartkit.engine.cluster_policy.verify_images.signed import compile_extractors, images_in
from chartkit.errors import EvaluationError
from chartkit.model import Body
from tests.data import from_table

TASK = {
    "kind": "Task",
    "spec": {"steps": [{"name": "a", "image": "x/y:1"}, {"name": "b"}, {"image": " "}]},
}


def _found(extractor: Body, resource: Body) -> list[tuple[str, tuple[str, ...]]]:
    extract = compile_extractors({"Task": [extractor]})
    return [(image.reference, image.path) for image in images_in(extract(resource))]


@pytest.mark.parametrize(
    "extractor",
    [{"path": "/spec/steps/*/image"}, {"path": "/ spec /steps/*", "value": "image", "name": "n"}],
)
def test_a_path_leads_to_images(extractor: Body) -> None:
    assert _found(extractor, TASK) == [("docker.io/x/y:1", ("spec", "steps", "0", "image"))]


def test_jmespath_takes_the_image_out_of_a_text() -> None:
    extractor = {"path": "/spec/url", "jmesPath": "trim_prefix(@, 'docker://')"}
    resource = {"kind": "Task", "spec": {"url": "docker://ghcr.io/a/b:2"}}
    assert _found(extractor, resource) == [("ghcr.io/a/b:2", ("spec", "url"))]


@from_table("extractor", "text")
def test_objects_built_otherwise_are_errors(extractor: Body, text: str | None) -> None:
    if text is None:
        assert len(_found(extractor, TASK)) == 2
        return
    with pytest.raises(EvaluationError, match=text):
        _found(extractor, TASK)


def test_other_kinds_have_the_images_of_their_pods() -> None:
    extract = compile_extractors({"Task": [{"path": "/spec/image"}]})
    spec = {"containers": [{"name": "c", "image": "nginx"}]}
    assert [one.reference for one in images_in(extract({"kind": "Pod", "spec": spec}))] == [
        "docker.io/nginx:latest"
    ]
    assert extract({"kind": "Service"}) == {}
