"""Options that several commands share, parsed into a frozen dataclass or in sections of help: kinds
of options, and options on a project, its charts and environments, or a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints

import click

from chartkit.addon import loaded
from chartkit.suggestions import suggestion

if TYPE_CHECKING:
    from chartkit.scan.environment import ProjectEnvironment


T = TypeVar("T")
Option = Callable[[Any], Any]


class Choice(click.Choice[str]):
    """A choice of names whose error suggests the name that was probably meant."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx)
        hint = suggestion(str(value), self.choices)
        return f"{message.rstrip('.')} ({hint})" if hint else message


class SectionedCommand(click.Command):
    """A command whose help shows its options in sections; sections: by their titles,
    options with spaces between them; those that are in none stand below `Options`."""

    def __init__(self, *given: Any, sections: Mapping[str, str], **named: Any) -> None:
        super().__init__(*given, **named)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: title for title, names in self._sections.items() for name in names.split()}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in self._sections}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                title = next(filter(None, map(titles.get, parameter.opts)), "Options")
                rows.setdefault(title, []).append(record)
        for title, records in rows.items():
            with formatter.section(title):
                formatter.write_dl(records)


def takes(
    parsed: Callable[..., Any] | str, *options: Option
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that adds options to a command, which gets them as its first argument, or
    after those of decorators above.

    parsed: a dataclass with a field for each option, or its `module:name`, which is imported when
    the command runs; a field that is a dataclass itself takes the options named after that one's
    fields. Options without a field are arguments of their own.
    """

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def call(*before: Any, **given: Any) -> Any:
            made = loaded(parsed) if isinstance(parsed, str) else parsed
            return command(*before, build(made, given), **given)

        decorated: Any = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def build(parsed: Callable[..., T], given: dict[str, Any]) -> T:
    """Return a dataclass of the values of its fields, which are taken out of given."""
    types = get_type_hints(parsed)
    return parsed(
        **{
            name: build(types[name], given) if is_dataclass(types[name]) else given.pop(name)
            for name in (field.name for field in fields(parsed))  # type: ignore[arg-type]
        }
    )


def number_option(
    name: str,
    limits: tuple[float, float | None],
    default: float | None,
    help_text: str,
    *,
    unit: str | None = None,
    parameter: str | None = None,
) -> Option:
    """Return an option that takes a number, a whole one if its lower limit is one. limits: the
    least and the most, None for no most; default: None if the option can be left out; unit: as help
    names it; parameter: where it is not named as the option is."""
    kind = click.FloatRange if isinstance(limits[0], float) else click.IntRange
    return click.option(
        name,
        *((parameter,) if parameter else ()),
        type=kind(*limits),
        default=default,
        show_default=default is not None,
        metavar=unit,
        help=help_text,
    )


download_timeout_option = number_option(
    "--timeout",
    (0.1, None),
    None,
    "The time limit for a server's answer; 20 if not given.",
    unit="SECONDS",
)


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def jobs_option(work: str) -> Option:
    """Return the option `--jobs N`; work: what the processes do, as `judge objects`."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=cores,
        show_default="the processors",
        metavar="N",
        help=f"The most processes that {work} at a time; results come in the order of the input.",
    )


cache_option: Final[Option] = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to use results of earlier runs. Default: they are used.",
)


project_option = click.option(
    "--project",
    "path",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="PATH",
    help="The project file or its folder; the current folder if not given.",
)

project_folder_option = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    metavar="FOLDER",
    help="The folder with chartkit.yaml and vendor/; the current one if not given.",
)

environment_option = click.option(
    "--env",
    metavar="NAME",
    help="Take the policies of an environment of the project, as its charts on disk have them: "
    "form, actions, exclusions, exceptions, and the filters of its Kyverno.",
)


def project_environment(path: Path, name: str) -> ProjectEnvironment:
    """Return an environment's policies; path: the project's. Raise InputError and RenderError."""
    from chartkit.project.project import read_project
    from chartkit.render.environment import project_environment

    project = read_project(path)
    return project_environment(project, project.environment(name))


context_option = click.option(
    "--context", metavar="NAME", help="The kubeconfig's context; the current one if not given."
)
record_option = click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write everything that is read to DIR, to take as PATH without the cluster.",
)


def policies_from_option(help_text: str) -> Option:
    """Return the option that takes policies of a live cluster, or of a recording of one."""
    return click.option("--policies-from", metavar="cluster|DIR", help=help_text)


CHART_OPTIONS: Final = (
    click.option(
        "-n",
        "--namespace",
        "named_namespace",
        help="The namespace that charts are rendered for. Of a cluster, the only namespace to "
        "read. Default: default.",
    ),
    click.option(
        "--release", default="release", show_default=True, help="The charts' release name."
    ),
    click.option(
        "--kube-version",
        "--kubernetes",
        "kube_version",
        help="The Kubernetes version that charts are rendered for, and that decides which kinds "
        "and fields there are. Default: the newest known, or the environment's.",
    ),
)


def helm_option() -> Callable[[Any], Any]:
    """Return the option `--helm library|program|PATH`, whose default is `CHARTKIT_HELM`."""
    return click.option(
        "--helm",
        metavar="library|program|PATH",
        expose_value=False,
        callback=_choose,
        help="The Helm to use for charts: the bundled library, `helm` on PATH, or a program. "
        "Default: $CHARTKIT_HELM, or the library where it is installed.",
    )


def _choose(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value:
        from chartkit.helm.backend import choose

        choose(value)


matrix_option = click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with releases of Kyverno and Kubernetes, and faults, that chartkit does not know.",
)
