"""The signers and registries of tests of signatures."""

from collections.abc import Iterator

import pytest

from chartkit.model import Body
from tests.addons.signatures.bundle_world import DIGEST, TYPE, World
from tests.addons.signatures.cosign_bench import Bench, serving_bench
from tests.unit.network.registry.registry_server import Registry, serving


@pytest.fixture(scope="package")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Images that are signed with cosign."""
    with serving_bench(tmp_path_factory.mktemp("docker")) as made:
        yield made


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """An empty registry for all tests of a file."""
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def world() -> World:
    """The signers of bundles and what is trusted of them."""
    return World()


@pytest.fixture(scope="module")
def keyless(world: World) -> Body:
    """A bundle of an attestation that is signed without a key."""
    return world.keyless.attest(DIGEST, TYPE, {"a": 1})
