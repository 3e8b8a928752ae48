"""`getImageData`: an image under the names of Kyverno's Go types."""

from typing import Any

import pytest

from chartkit.engine.cel import CelError, compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.notation import notation
from chartkit.model import Body
from tests.data import tables

_TABLES = tables(__file__)

IMAGE: Body = _TABLES["image"]


class Registry(Host):
    """A registry with one image."""

    def __init__(self, image: Any) -> None:
        self._image = image

    def image_data(self, _reference: str, /) -> Body:
        found: Body = self._image
        return found


def value(expression: str, image: Any = IMAGE) -> str:
    program = compile_expression(
        expression.replace("IMAGE", "getImageData('a')"), ENVIRONMENTS["ivpol"]
    )
    return notation(program.evaluate({}, Registry(image)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("IMAGE.Digest", '"sha256:aa"'),
        ("IMAGE['Tag']", '"1"'),
        ("IMAGE.ImageReference.Tag + IMAGE.ImageDescriptor.Digest", '"1sha256:aa"'),
        ("IMAGE.Manifest.SchemaVersion + IMAGE.Manifest.Layers[0].Size", "9"),
        ("IMAGE.Manifest.Layers[0].Digest.Algorithm", '"sha256"'),
        ("IMAGE.Manifest.Layers[0].Data == b'hi'", "true"),
        ("IMAGE.Manifest.Config.Digest.Hex", '"bb"'),
        ("IMAGE.Manifest.Annotations.by", '"me"'),
        ("IMAGE.ConfigData.Created.Time == timestamp('2026-01-02T03:04:05Z')", "true"),
        ("IMAGE.ConfigData.Config.Healthcheck.Interval == duration('1s')", "true"),
        ("IMAGE.ConfigData.Config.ExposedPorts.map(port, port)", '["80/tcp"]'),
        ("IMAGE.ConfigData.History[0].EmptyLayer", "true"),
        ("IMAGE.ConfigData.RootFS.DiffIDs[0].Hex", '"dd"'),
        ("IMAGE.ImageIndex == null", "true"),
        ("has(IMAGE.Digest) && !has(IMAGE.ResolvedImage)", "true"),
        ("IMAGE.Manifest.Subject.Platform.OS", '""'),
        ("has(IMAGE.Manifest.Subject) || has(IMAGE.ConfigData.History[0].Created)", "false"),
        ("IMAGE == IMAGE", "true"),
        ("IMAGE.?Digest.orValue('')", '"sha256:aa"'),
    ],
)
def test_native_images_fields(expression: str, expected: str) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("IMAGE.digest", "no such field: digest"),
        ("IMAGE.ConfigData.config", "no such field: config"),
        ("has(IMAGE.config)", "no such field: config"),
        ("IMAGE.ConfigData.Config.Labels.b", "no such key: b"),
        ("string(IMAGE)", "no such overload: string(imagedataloader.ImageData)"),
        ("string(IMAGE.Manifest.Config.Digest)", "no such overload: string(v1.Hash)"),
    ],
)
def test_what_is_not_there(expression: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        value(expression)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("image", "expression", "expected"),
    [
        ({"configData": {"config": {"User": "a"}}}, "IMAGE.ConfigData.Config.User", '"a"'),
        (
            {"manifest": [1], "digest": 5},
            "IMAGE.Digest + string(IMAGE.Manifest.SchemaVersion)",
            '"0"',
        ),
        (
            {"manifest": {"layers": ["x", None, {"size": 2**70, "digest": 1, "data": "%"}]}},
            "IMAGE.Manifest.Layers.map(one, one.Size + int(one.Data.size()))",
            "[0, 0, 0]",
        ),
        (
            {
                "config": {
                    "created": "soon",
                    "config": {"Labels": "x", "Healthcheck": {"Interval": "1"}},
                }
            },
            "IMAGE.ConfigData.Created.Time == timestamp('0001-01-01T00:00:00Z') && "
            "IMAGE.ConfigData.Config.Labels.size() == 0 && "
            "IMAGE.ConfigData.Config.Healthcheck.Interval == duration('0s')",
            "true",
        ),
    ],
)
def test_answers_of_another_shape(image: Body, expression: str, expected: str) -> None:
    assert value(expression, image) == expected
