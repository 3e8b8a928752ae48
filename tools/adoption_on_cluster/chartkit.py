"""chartkit, Helm and waiting, as the story uses them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.migration_on_cluster.cluster import Cluster, wait_until


class StoryError(Exception):
    """The story cannot go on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a program."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return its output as JSON."""
        try:
            return json.loads(self.out)
        except ValueError:
            raise StoryError(self.out + self.err) from None


def run(folder: Path, *command: str, code: int = 0) -> Ended:
    """Run a program in a folder; raise StoryError where it ends with another exit code."""
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    say(f"{ended.returncode}:", *command[:6])
    if ended.returncode != code:
        text = f"{' '.join(command)}: exit code {ended.returncode}, not {code}"
        raise StoryError(f"{text}\n{ended.stdout}{ended.stderr}")
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def chartkit(folder: Path, *arguments: str, code: int = 0) -> Ended:
    """Run chartkit in a folder."""
    return run(folder, sys.executable, "-m", "chartkit", *arguments, code=code)


def say(*words: object) -> None:
    """Print a line on what goes on."""
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)  # noqa: T201


def await_webhooks(cluster: Cluster, names: frozenset[str], seconds: float = 90) -> None:
    """Wait until Kyverno's webhook configurations have webhooks of these names' beginnings."""

    def there() -> bool:
        found = [
            webhook["name"]
            for kind in ("validating", "mutating")
            for body in cluster.items(
                f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations"
            )
            for webhook in body.get("webhooks") or ()
        ]
        return all(any(each.startswith(name) for each in found) for name in names)

    if not wait_until(there, seconds):
        raise StoryError(f"no webhooks {', '.join(sorted(names))} after {seconds} s")
