from pathlib import Path

import pytest

from chartkit.kyverno.troubleshooting import KnownMessage, as_text, find_messages, known_messages
from tests.data import from_table

PAGE = Path(__file__).parents[3] / "docs" / "troubleshooting.md"
MARK = "<!-- Written from kyverno/messages.yaml: pytest --update-golden. -->\n"


@pytest.mark.parametrize("message", known_messages(), ids=lambda message: message.id)
def test_example_finds_its_message_first(message: KnownMessage) -> None:
    assert find_messages(message.example)[0] is message


@pytest.mark.parametrize("message", known_messages(), ids=lambda message: message.id)
def test_message_is_found_in_a_longer_text_over_lines(message: KnownMessage) -> None:
    lines = "\n    ".join(message.example.split())
    assert message in find_messages(f"Warning  FailedCreate  2m\n{lines}\nand more")


@from_table("text", "first")
def test_a_part_of_a_message_finds_it(text: str, first: str | None) -> None:
    found = find_messages(text)
    assert (found[0].id if found else None) == first


def test_messages_ids_are_unique() -> None:
    ids = [each.id for each in known_messages()]
    assert len(set(ids)) == len(ids)


def test_other_text_finds_nothing() -> None:
    assert find_messages("pods is running") == ()


def test_text_for_terminals_is_80_columns_wide_and_names_other_causes() -> None:
    text = as_text(find_messages(known_messages()[2].example))
    assert text.startswith("Many policies installed at once.\n\nCause: For each ClusterPolicy")
    assert max(map(len, text.splitlines())) <= 80
    assert text.endswith("Also possible: Kyverno does not answer in time.\n")


def test_page_lists_every_message(request: pytest.FixtureRequest) -> None:
    written, mark, listed = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{written}{MARK}\n{page()}", "utf-8")
        return
    assert listed == f"\n{page()}"


def page() -> str:
    """Return every message in Markdown."""
    return "\n".join(map(section, known_messages()))


def section(message: KnownMessage) -> str:
    """Return the section about one message."""
    steps = "\n".join(f"- {step}" for step in message.fix)
    return f"## {message.title}\n\n```\n{message.example}\n```\n\n{message.cause}\n\n{steps}\n"
