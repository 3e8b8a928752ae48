"""A registry with an image and an index, and nobody's credentials."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.self_signed import self_signed
from tests.unit.network.registry.registry_server import INDEX, MANIFEST, Registry, serving

CONFIG = {
    "architecture": "amd64",
    "os": "linux",
    "created": "2026-01-02T03:04:05.120Z",
    "config": {"User": "65532", "Env": ["A=1"], "New": "unknown to Kyverno"},
    "rootfs": {"type": "layers", "diff_ids": []},
}


@pytest.fixture(autouse=True)
def docker_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Docker's configuration file, which is not there yet."""
    folder = tmp_path / "docker"
    folder.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))
    return folder / "config.json"


@pytest.fixture(scope="package")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate that nobody else has signed, for 127.0.0.1, and its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def registry() -> Iterator[Registry]:
    """`team/app:1` is an image, `team/many:1` an index whose second child is linux/amd64."""
    with serving() as made:
        made.add_image("team/app", "1", CONFIG)
        arm = made.add_image("team/many", "", {**CONFIG, "architecture": "arm64"})
        amd = made.add_image("team/many", "", CONFIG)
        manifests = [
            {
                "mediaType": MANIFEST,
                "size": 1,
                "digest": digest,
                "platform": {"os": "linux", "architecture": architecture},
            }
            for digest, architecture in ((arm, "arm64"), (amd, "amd64"))
        ]
        body = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
        made.add("team/many", "1", INDEX, body)
        yield made
