"""Helm's library as a command, which takes arguments of the program `helm`, and `read`: the release
for which the program is called three times. It starts without site packages."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from chartkit.helm.sandbox.confine import die_with_parent

_BURST: Final = 200
_REQUESTS_A_SECOND: Final = 50
"""A release has some 80 objects, each read and written: Helm's own 5 a second take minutes."""

_Arguments = argparse.Namespace
_Library = Any


def main(library_folder: str, *arguments: str) -> None:
    """Carry out a command; exit with 1 and Helm's message where it fails. Ctrl-C cancels it."""
    die_with_parent(os.getppid())
    sys.path.append(library_folder)
    given = _parser().parse_args(arguments)
    failures: list[str] = []

    import helm_python

    def run() -> None:
        try:
            sys.stdout.write(_COMMANDS[given.command](helm_python, given, context))
        except helm_python.HelmError as error:
            failures.append(f"Error: {error}")

    with helm_python.HelmContext() as context:
        # A signal reaches Python in its first thread alone, and only while no call of Go's runs.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: context.cancel())
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    sys.exit(failures[0] if failures else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("helm", allow_abbrev=False)
    parser.add_argument("command", choices=_COMMANDS)
    parser.add_argument("operands", nargs="*")
    for option in ("namespace", "values", "labels", "timeout", "version", "destination", "output"):
        parser.add_argument(f"--{option}", default="")
    for option in ("kubeconfig", "kube-context"):
        parser.add_argument(f"--{option}")
    flags = ("create-namespace", "take-ownership", "force-conflicts", "reset-values", "no-hooks")
    for option in (*flags, "ignore-not-found", "plain-http"):
        parser.add_argument(f"--{option}", action="store_true")
    return parser


def _config(library: _Library, given: _Arguments) -> Any:
    is_config_map = os.environ.get("HELM_DRIVER", "").startswith("configmap")
    return library.Config(
        kubeconfig_path=given.kubeconfig,
        kube_context=given.kube_context,
        namespace=given.namespace,
        storage_driver="configmap" if is_config_map else "secret",
        burst_limit=_BURST,
        qps=_REQUESTS_A_SECOND,
    )


def _read(library: _Library, given: _Arguments, _: Any) -> str:
    (name,) = given.operands
    with _config(library, given) as config:
        try:
            stored = config.get_all(name)
            status = {"manifest": stored["summary"].get("manifest"), "config": stored.get("config")}
            return json.dumps([config.get_metadata(name), status])
        except library.HelmNotFoundError:
            return json.dumps([None, None])


def _write(library: _Library, given: _Arguments, context: Any) -> str:
    # `Config.upgrade` has no word for conflicts; its C call takes it.
    name, chart = given.operands
    options = {
        "namespace": given.namespace,
        "timeout_seconds": _seconds(given),
        "labels": dict(label.split("=") for label in given.labels.split(",")),
        "create_namespace": given.create_namespace,
        "reset_values": given.reset_values,
        "take_ownership": given.take_ownership,
        # An object that is taken over has fields that another program wrote.
        "force_conflicts": given.force_conflicts or given.take_ownership,
    }
    options = {option: value for option, value in options.items() if value}
    values = Path(given.values).read_text("utf-8")
    with _config(library, given) as config:
        handles = (config._raw(), config._context_arg(context), *config._chart_args(chart))
        call = (f"helm_{given.command}", *handles, name, values, json.dumps(options))
        return str(library._native.call_string(*call))


def _uninstall(library: _Library, given: _Arguments, _: Any) -> str:
    # `Config.uninstall` has no word for hooks; its C call takes it.
    (name,) = given.operands
    options = {"ignore_not_found": given.ignore_not_found, "timeout_seconds": _seconds(given)}
    options |= {"disable_hooks": True} if given.no_hooks else {}
    with _config(library, given) as config:
        call = ("helm_uninstall", config._raw(), name, json.dumps(options))
        return str(library._native.call_string(*call))


def _seconds(given: _Arguments) -> int:
    return int(given.timeout.removesuffix("s"))


def _push(library: _Library, given: _Arguments, _: Any) -> str:
    archive, remote = given.operands
    with library.Chart.load(archive) as chart:
        reference = f"{remote}/{chart.name}:{chart.version.replace('+', '_')}"
    with library.RegistryClient(plain_http=given.plain_http) as client:
        client.push(archive, remote, plain_http=given.plain_http)
        return f"Digest: {client.resolve(reference)['digest']}\n"


def _pull(library: _Library, given: _Arguments, _: Any) -> str:
    (reference,) = given.operands
    with library.RegistryClient(plain_http=given.plain_http) as client:
        client.pull(
            reference,
            destination=given.destination,
            version=given.version,
            plain_http=given.plain_http,
        )
    return ""


_COMMANDS: Final[dict[str, Callable[[_Library, _Arguments, Any], str]]] = {
    "read": _read,
    "install": _write,
    "upgrade": _write,
    "uninstall": _uninstall,
    "push": _push,
    "pull": _pull,
}
