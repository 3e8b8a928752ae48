from base64 import b64decode, b64encode
from gzip import compress, decompress

import pytest

from chartkit.addons.operate.install.releases import keep_definitions
from chartkit.documents.reader import read_text
from chartkit.helm.render import render_chart
from chartkit.network.cluster.client import connect
from chartkit.network.cluster.source import ReleaseError
from tests.addons.operate.install.conftest import World

RECORD = "/api/v1/namespaces/kyverno/secrets/sh.helm.release.v1.kyverno.v1"


@pytest.mark.slow
def test_definitions_are_marked_and_nothing_else(world: World) -> None:
    world.done()
    assert keep_definitions(connect(None), "kyverno", "kyverno", 1) == 1
    stored = decompress(b64decode(b64decode(world.server.objects[RECORD]["data"]["release"])))
    manifest = read_text(read_text(stored.decode())[0].body["manifest"])
    bodies = {document.body["kind"]: document.body for document in manifest}
    kept = bodies["CustomResourceDefinition"]["metadata"].pop("annotations")
    assert kept == {"helm.sh/resource-policy": "keep"}
    rendered = render_chart(world.project / "charts/kyverno", [{"action": "Audit"}])
    assert list(bodies.values()) == [each.body for each in rendered.resources]
    assert world.statuses("kyverno") == ["deployed"]


@pytest.mark.usefixtures("server")
def test_a_release_that_is_not_there() -> None:
    assert keep_definitions(connect(None), "kyverno", "kyverno", 7) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [b"", b"not packed", compress(b"no JSON"), compress(b'{"manifest": 1}'), compress(b"[]")],
    # What is packed holds the time, and names must be the same everywhere.
    ids=["empty", "not-packed", "no-json", "number", "list"],
)
def test_a_record_that_cannot_be_read(world: World, content: bytes) -> None:
    world.done()
    record = dict(world.server.objects[RECORD])
    data = {"release": b64encode(b64encode(content)).decode()}
    world.server.put(RECORD, {**record, "data": data})
    with pytest.raises(ReleaseError, match=r"record sh.helm.release.v1.kyverno.v1 cannot be read"):
        keep_definitions(connect(None), "kyverno", "kyverno", 1)
    assert world.server.objects[RECORD]["data"] == data
