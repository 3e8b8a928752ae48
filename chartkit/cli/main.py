"""The `chartkit` command, which imports only the sub-command that is called."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from chartkit import __version__
from chartkit.cli import boundary, terminal
from chartkit.errors import InputError
from chartkit.suggestions import suggestion

COMMANDS = {
    "init": ("chartkit.cli.init:init", "Start a project with chartkit.yaml and a first workload."),
    "adopt": (
        "chartkit.addons.operate.commands.adopt:adopt",
        "Write a project for the policies and the Kyverno that are in use.",
    ),
    "render": ("chartkit.cli.render:render", "Write the charts and check every environment."),
    "check-compat": (
        "chartkit.cli.compat:check_compat",
        "Check whether Kyverno supports a version of Kubernetes.",
    ),
    "diff": (
        "chartkit.cli.diff:diff",
        "Compare two environments, or an environment with a revision.",
    ),
    "plan": (
        "chartkit.addons.operate.commands.plan:plan",
        "Show the order in which to upgrade Kyverno and Kubernetes.",
    ),
    "promote": (
        "chartkit.addons.operate.commands.promote:promote",
        "Set policies from Audit to Enforce by evidence.",
    ),
    "install": (
        "chartkit.addons.operate.commands.install:install",
        "Install an environment in a cluster, or upgrade it there.",
    ),
    "uninstall": (
        "chartkit.addons.operate.commands.install:uninstall",
        "Remove an environment from a cluster, with its webhooks.",
    ),
    "rescue": (
        "chartkit.addons.operate.commands.rescue:rescue",
        "Open a cluster that Kyverno's webhooks lock.",
    ),
    "package": (
        "chartkit.addons.operate.commands.publish:package",
        "Check the charts and pack them.",
    ),
    "push": (
        "chartkit.addons.operate.commands.publish:push",
        "Push packed charts to an OCI registry.",
    ),
    "scan": ("chartkit.cli.scan:scan", "Evaluate manifests, charts or a cluster as Kyverno does."),
    "serve": (
        "chartkit.addons.serve.command:serve",
        "Answer an API server's admission reviews, for tests.",
    ),
    "estimate": (
        "chartkit.addons.serve.estimate.command:estimate",
        "Estimate the load of policies on a cluster.",
    ),
    "preview": ("chartkit.cli.preview:preview", "Show how policies would change objects."),
    "exceptions": (
        "chartkit.cli.reports.exceptions:exceptions",
        "List and check PolicyExceptions, and write new ones.",
    ),
    "test": ("chartkit.cli.test:test", "Run kyverno-test.yaml files."),
    "policies": (
        "chartkit.cli.policies:policies",
        "Find policies, vendor libraries, write and check your own.",
    ),
    "vendor": ("chartkit.cli.vendor:vendor", "Use upstream's charts in place of chartkit's."),
    "values": ("chartkit.cli.values:values", "Check values files, fix and migrate them."),
    "migrate": (
        "chartkit.addons.migrate.command:migrate",
        "Leave the policies of kyverno.io behind, before Kyverno refuses them.",
    ),
    "explain": (
        "chartkit.cli.explain:explain",
        "Explain the ID of a finding, or a cluster's error message.",
    ),
    "report": (
        "chartkit.cli.reports.report:report",
        "Merge reports of scans, or compare one with an earlier one.",
    ),
    "schema": (
        "chartkit.cli.reports.schema:schema",
        "Print the JSON Schema of a JSON output, or of a file of chartkit's.",
    ),
    "eval": ("chartkit.cli.eval:evaluate", "Evaluate an expression on a value."),
    "completion": (
        "chartkit.cli.completion:completion",
        "Print a script that completes commands in a shell.",
    ),
}
"""Each sub-command's place (`module:attribute`) and its summary for `chartkit --help`."""


_COLLECTED_AFTER = (50_000, 20, 10)
"""The thresholds of the garbage collector."""


class _Commands(click.Group):
    """Sub-commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = suggestion(args[0], COMMANDS) or f"known are {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command '{args[0]}': {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="chartkit", message="%(prog)s %(version)s")
def cli() -> None:
    """Generate, check and prove Helm charts for Kyverno and its policies.

    Exit codes: 0 all good, 1 violations or failed checks, 2 usage or input, 3 a bug in chartkit.
    """


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8, which Python gives as lone surrogates."""
    for each in arguments:
        try:
            each.encode("utf-8")
        except UnicodeEncodeError:
            hint = "rename the file, or name the folder that it is in"
            raise InputError(f"the argument '{each}' is not UTF-8 text", hint=hint) from None


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; arguments: those of the process if None."""
    terminal.open_closed()

    def run() -> Any:
        _check_text(sys.argv[1:] if arguments is None else arguments)
        return cli.main(arguments, prog_name="chartkit", standalone_mode=False)

    boundary.end_at_sigterm()
    # What is read stays until the end: to look for cycles in it time and again takes half the time.
    gc.set_threshold(*_COLLECTED_AFTER)
    with terminal.guarded():
        code = boundary.run(run)
    raise SystemExit(code)
