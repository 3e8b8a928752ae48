"""What `--help` says: of every command, with every option."""

import re
from collections.abc import Iterable, Iterator

import click
import pytest

from chartkit.catalog.model import SEVERITIES, Kind
from chartkit.catalog.standards import built_in_standards
from chartkit.charts.plan import NAMES
from chartkit.cli.main import cli
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.output.values_merge import Prefer
from chartkit.project.settings import PolicyType
from chartkit.render.compare.risk import Level
from chartkit.report import FORMATS, ReportPer


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


COMMANDS = dict(commands(cli, "chartkit"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_says_what_it_is(path: str) -> None:
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            assert parameter.help.endswith("."), parameter.opts
            is_choice = isinstance(parameter.type, click.Choice)
            if is_choice and isinstance(parameter.default, str):
                assert parameter.show_default or parameter.default in parameter.help


@pytest.mark.parametrize("path", COMMANDS)
def test_nothing_is_cut_off(path: str) -> None:
    context = click.Context(COMMANDS[path], info_name=path, terminal_width=80)
    assert "..." not in COMMANDS[path].get_help(context).replace("[ARGS]...", "")


def help_of(path: str, option: str) -> str:
    (found,) = (each for each in COMMANDS[path].params if option in each.opts)
    assert isinstance(found, click.Option)
    choices = found.type.choices if isinstance(found.type, click.Choice) else ()
    return f"{found.help} {' '.join(choices)}"


@pytest.mark.parametrize(
    ("path", "option", "table"),
    [
        ("chartkit scan", "--output", FORMATS),
        ("chartkit scan", "--report-per", ReportPer),
        ("chartkit scan", "--policy-type", PolicyType),
        ("chartkit preview", "--output", FORMATS),
        ("chartkit test", "--output", ("text", "json", "junit", "markdown")),
        ("chartkit policies list", "--kind", Kind),
        ("chartkit policies list", "--severity", SEVERITIES),
        ("chartkit policies coverage", "--standard", built_in_standards()),
        ("chartkit values migrate", "--chart", NAMES),
        ("chartkit diff", "--fail-on", Level),
        ("chartkit render", "--prefer", [each for each in Prefer if each is not Prefer.NEITHER]),
    ],
)
def test_help_names_each_entry_of_the_table(path: str, option: str, table: Iterable[str]) -> None:
    text = help_of(path, option)
    assert not [str(each) for each in table if not re.search(rf"\b{each}\b", text)]


def test_help_of_eval_names_each_environment() -> None:
    text = help_of("chartkit eval cel", "--env")
    known = set(re.findall(r"[\w-]+", text))
    namespaced = {name for name in ENVIRONMENTS if name.startswith("n")}
    assert not [name for name in ENVIRONMENTS if name not in known | namespaced]


def test_help_of_vendor_names_each_chart() -> None:
    assert all(name in (COMMANDS["chartkit vendor chart"].help or "") for name in NAMES)


def test_each_option_of_a_scan_is_in_a_section() -> None:
    text = COMMANDS["chartkit scan"].get_help(click.Context(COMMANDS["chartkit scan"]))
    titles = re.findall(r"^(\w[\w ]*):$", text, re.MULTILINE)
    assert titles[:3] == ["Policies", "Objects", "Charts"]
    assert "Options" not in titles
