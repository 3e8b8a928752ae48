"""The examples of docs/reference/cel-policies.md say what they show."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from chartkit.documents.reader import read_text, resources
from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserMocks
from chartkit.engine.policies import compile_any, evaluate, is_exception, is_policy, read_exceptions
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Request
from chartkit.model import Location

PAGE: Final = Path(__file__).parents[4] / "docs" / "reference" / "cel-policies.md"
EXAMPLES: Final = re.findall(
    r"```yaml\n(.*?)```\n\n```results\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
)
VALUES: Final = read_values(None, Location("values.yaml"), read_settings([]))


def shown(text: str) -> Iterator[str]:
    """What the policies among some documents say of the objects among them."""
    documents = list(resources(read_text(text)))
    around = read_exceptions(filter(is_exception, documents)).with_bindings(documents)
    policies = [compile_any(one, around) for one in documents if is_policy(one)]
    world = World(UserApi(Cluster([one.body for one in documents])), mocks=UserMocks(VALUES))
    for one in documents:
        for result in evaluate(policies, Request(one), world):  # type: ignore[arg-type]
            yield f"{one.kind}/{one.name}: {result.status}, {result.message}"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_cel_policies_page_example(text: str, expected: str) -> None:
    assert list(shown(text)) == expected.splitlines()
