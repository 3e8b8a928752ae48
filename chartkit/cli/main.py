"""The `chartkit` command, which imports only the sub-command that is called."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import click

from chartkit import __version__
from chartkit.addon import MissingAddonError, addons, loaded
from chartkit.cli import boundary, terminal
from chartkit.errors import InputError
from chartkit.suggestions import suggestion

_CORE: Final = {
    "init": ("chartkit.cli.init:init", "Start a project with chartkit.yaml and a first workload."),
    "render": ("chartkit.cli.render:render", "Write the charts and check every environment."),
    "check-compat": (
        "chartkit.cli.compat:check_compat",
        "Check whether Kyverno supports a version of Kubernetes.",
    ),
    "diff": (
        "chartkit.cli.diff:diff",
        "Compare two environments, or an environment with a revision.",
    ),
    "scan": ("chartkit.cli.scan:scan", "Evaluate manifests, charts or a cluster as Kyverno does."),
    "why": ("chartkit.cli.why:why", "Show what decided the result of each policy for an object."),
    "preview": ("chartkit.cli.why:preview", "Show how policies would change objects."),
    "exceptions": (
        "chartkit.cli.exceptions:exceptions",
        "List and check PolicyExceptions, and write new ones.",
    ),
    "test": ("chartkit.cli.test:test", "Run kyverno-test.yaml files."),
    "policies": (
        "chartkit.cli.policies:policies",
        "Find policies, vendor libraries, write and check your own.",
    ),
    "vendor": (
        "chartkit.cli.policies:vendor_group",
        "Use upstream's charts in place of chartkit's.",
    ),
    "values": ("chartkit.cli.values:values", "Check values files, fix and migrate them."),
    "explain": (
        "chartkit.cli.explain:explain",
        "Explain the ID of a finding, or a cluster's error message.",
    ),
    "report": (
        "chartkit.cli.diff:report",
        "Merge reports of scans, or compare one with an earlier one.",
    ),
    "schema": (
        "chartkit.cli.schema:schema",
        "Print the JSON Schema of a JSON output, or of a file of chartkit's.",
    ),
    "eval": ("chartkit.cli.eval:evaluate", "Evaluate an expression on a value."),
    "completion": (
        "chartkit.cli.schema:completion",
        "Print a script that completes commands in a shell.",
    ),
}
"""The core's sub-commands, each with its place (`module:attribute`) and its summary."""
_GROUPS: Final = {
    "Project": ("init", "adopt", "render", "diff", "promote", "package", "push"),
    "Check": ("scan", "why", "test", "preview", "exceptions", "check-compat", "values", "report"),
    "Policies": ("policies", "witness", "migrate", "vendor", "eval"),
    "Cluster": ("plan", "install", "uninstall", "rescue", "serve", "estimate"),
    "More": ("playground", "lsp", "mcp", "explain", "facts", "schema", "completion"),
}
"""The sub-commands as `chartkit --help` lists them, those of add-ons among them."""
_ADDONS: Final = {
    "migrate": "migrate",
    "serve": "serve",
    "estimate": "serve",
    "witness": "satisfy",
    "lsp": "lsp",
    "mcp": "mcp",
    "playground": "playground",
    **dict.fromkeys(("adopt", "facts", "promote", "package", "push", "plan"), "operate"),
    **dict.fromkeys(("install", "uninstall", "rescue"), "operate"),
}
"""The add-on of each sub-command that one brings."""


def commands() -> Mapping[str, tuple[str, str]]:
    """Return the place and the summary of each sub-command that is installed."""
    brought = {
        name: entry
        for addon in addons().values()
        for name, entry in addon.commands.items()
        if " " not in name
    }
    there = {**_CORE, **brought}
    return {name: there[name] for names in _GROUPS.values() for name in names if name in there}


COLLECTED_AFTER = (100_000, 20, 10)
"""The thresholds of the garbage collector."""


class _Commands(click.Group):
    """Sub-commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = _CORE.get(cmd_name) or commands().get(cmd_name)
        if entry is None:
            return None
        command: click.Command = loaded(entry[0])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in _CORE:
            # The name of no command, or of one whose add-on is missing.
            names = commands()
            if name not in names and name in _ADDONS:
                raise MissingAddonError(_ADDONS[name], f"the command '{name}'")
            if name not in names:
                hint = suggestion(name, names) or f"known are {', '.join(names)}"
                ctx.fail(f"there is no command '{name}': {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        all_commands = commands()
        for title, names in _GROUPS.items():
            if rows := [(name, all_commands[name][1]) for name in names if name in all_commands]:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    no_args_is_help=True,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("--verbose", is_flag=True, help="With --version, show which facts are in use.")
@click.pass_context
def cli(context: click.Context, version: bool, verbose: bool) -> None:
    """Generate, check and prove Helm charts for Kyverno and its policies.

    Exit codes: 0 all good, 1 violations or failed checks, 2 usage or input, 3 a bug in chartkit.
    """
    if not version:
        if verbose or context.invoked_subcommand is None:
            raise click.UsageError("--verbose is for --version" if verbose else "Missing command.")
        return
    click.echo(f"chartkit {__version__}")
    if verbose:
        from chartkit.kyverno.releases import facts

        click.echo(str(facts()))
    context.exit()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; arguments: None for the arguments of the process."""
    terminal.open_closed()

    def run() -> Any:
        # Refuse arguments that are not UTF-8, which Python gives as lone surrogates.
        for argument in sys.argv[1:] if arguments is None else arguments:
            try:
                argument.encode("utf-8")
            except UnicodeEncodeError:
                hint = "rename the file, or name the folder that it is in"
                message = f"the argument '{argument}' is not UTF-8 text"
                raise InputError(message, hint=hint) from None
        return cli.main(arguments, prog_name="chartkit", standalone_mode=False)

    boundary.end_at_sigterm()
    # What is read stays until the end: to look for cycles in it time and again takes half the time.
    gc.set_threshold(*COLLECTED_AFTER)
    with terminal.guarded():
        code = boundary.run(run)
    raise SystemExit(code)
