"""One registry with its signers for all tests of signatures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.addons.signatures.cosign_bench import Bench, serving_bench


@pytest.fixture(scope="package")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Images that are signed with cosign."""
    with serving_bench(tmp_path_factory.mktemp("docker")) as made:
        yield made
