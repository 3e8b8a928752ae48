from collections.abc import Iterator

import pytest

from tests.unit.network.services.service import Service, serving


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


@pytest.fixture
def other() -> Iterator[Service]:
    with serving() as running:
        yield running
