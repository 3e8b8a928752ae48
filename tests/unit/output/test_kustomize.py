from chartkit.documents.reader import read_text
from chartkit.model import Body, Resource
from chartkit.render.manifests import overlays
from tests.data import tables


def config(name: str, **data: str) -> Resource:
    return Resource(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    )


def bodies(text: str) -> list[Body]:
    return [document.body for document in read_text(text, "x")]


def test_what_all_have_is_the_base() -> None:
    crd = Resource({"kind": "CustomResourceDefinition", "metadata": {"name": "c"}})
    shared, plain, other = config("a", x="1"), config("b", x="1"), config("b", x="2")
    files = overlays({"dev": [shared, plain, crd], "prd": [crd, other, shared]})
    assert sorted(files) == tables(__file__)["what_all_have_is_the_base"]
    assert bodies(files["base/kustomization.yaml"])[0]["resources"] == ["crds.yaml", "objects.yaml"]
    assert bodies(files["base/objects.yaml"]) == [shared.body]
    assert bodies(files["overlays/prd/kustomization.yaml"])[0]["resources"] == [
        "../../base",
        "objects.yaml",
    ]
    assert bodies(files["overlays/prd/objects.yaml"]) == [other.body]


def test_nothing_in_common_and_nothing_of_its_own() -> None:
    files = overlays({"dev": [config("a", x="1")], "prd": [config("a", x="2")]})
    assert not [name for name in files if name.startswith("base/")]
    assert bodies(files["overlays/dev/kustomization.yaml"])[0]["resources"] == ["objects.yaml"]
    alone = overlays({"dev": [config("a")]})
    assert bodies(alone["overlays/dev/kustomization.yaml"])[0]["resources"] == ["../../base"]
