"""What the pages say of the project: links lead to pages and headings, commands are ones."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from chartkit.cli.main import cli

ROOT = Path(__file__).parents[2]
_PAGES = sorted([*ROOT.glob("*.md"), ROOT / "bench" / "README.md", *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
_PATH = re.compile(
    r"`((?:[\w.-]+/)*(?:[\w-]+/|[\w-]+\.(?:py|yaml|tsv)))`|(?<=# )((?:\w+/)+\w+)(?=[,)\n])"
)
"""A folder or file in code, or the module in the comment of a line of code."""
_END = ("|", ">", "&&", "||", ";")


def _prose(page: Path) -> str:
    return _CODE.sub("", _FENCE.sub("", page.read_text("utf-8")))


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The headings of a page as its links name them; the same rule as on the sites that show it."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    plain = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", each).lower() for each in _HEADING.findall(text)
    )
    return frozenset(re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in plain)


def _dead(page: Path) -> Iterator[str]:
    for link in _LINK.findall(_prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            yield link


def test_links_lead_somewhere() -> None:
    assert len(_PAGES) > 50
    dead = {str(page.relative_to(ROOT)): list(_dead(page)) for page in _PAGES}
    assert {page: links for page, links in dead.items() if links} == {}


def test_every_command_has_a_page() -> None:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")
    named = set(re.findall(r"`(?:chartkit )?([\w-]+)", text))
    assert set(cli.list_commands(click.Context(cli))) - named == set()


def test_the_architecture_page_names_what_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    folders = [ROOT / name for name in ("bench", "chartkit", "docs", "tests", "tools")]
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    there = "".join(f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}\n" for path in paths)
    names = [path or module for path, module in _PATH.findall(text)]
    assert len(names) > 100
    ends = ("\n", "/\n", ".py\n")
    assert [name for name in names if not any(f"/{name}{end}" in there for end in ends)] == []


def test_the_architecture_page_has_the_layers_of_the_contracts() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    drawn = [set(re.findall(r"\w+", block)) for block in _FENCE.findall(page)]
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for contract in pyproject["tool"]["importlinter"]["contracts"]:
        if contract["id"] in ("rooms", "engine"):
            rooms = {room.strip() for row in contract["layers"] for room in row.split("|")}
            assert any(rooms <= words for words in drawn), contract["id"]


def _commands(page: Path) -> Iterator[str]:
    """The lines of a page's blocks that call chartkit, from that word to the end of the call."""
    for block in _FENCE.findall(page.read_text("utf-8")):
        for line in block.splitlines():
            found = re.match(r"(?:\$ )?(?:.*(?:\| |&& ))?(chartkit(?: .*)?)$", line)
            if found and "…" not in line and "[" not in line:
                yield found.group(1)


def _wrong(line: str) -> str:
    """What chartkit would not take of a line: a command or an option; empty where it takes all."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = cli
    for number, word in enumerate(words):
        if word in _END:
            break
        if isinstance(command, click.Group) and not word.startswith("-"):
            found = command.get_command(click.Context(command), word)
            if found is None and any(isinstance(each, click.Argument) for each in command.params):
                continue
            if found is None:
                return f"{' '.join(words[: number + 1])}: no command"
            command = found
        elif word.startswith("-") and word != "-":
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            if word.partition("=")[0] not in known | {"-h", "--help", "--version"}:
                return f"{word}: no option of {command.name}"
    return ""


def test_commands_that_pages_show_are_ones() -> None:
    shown = [(page, line) for page in _PAGES for line in _commands(page)]
    assert len(shown) > 70
    assert [(str(page), line, wrong) for page, line in shown if (wrong := _wrong(line))] == []


def test_a_slip_of_the_pen_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b`: c\n[x](#a-b-c) [y](#nope) [z](no.md)\n```\nchartkit scan -\n```\n")
    assert list(_dead(page)) == ["#nope", "no.md"]
    assert list(_commands(page)) == ["chartkit scan -"]
    assert _wrong("chartkit polcies search") == "polcies: no command"
    assert _wrong("chartkit policies search --subjct Pod") == "--subjct: no option of search"
    assert _wrong("chartkit policies search probes --subject Pod  # in every one") == ""
