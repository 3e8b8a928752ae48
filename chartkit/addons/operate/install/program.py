"""Releases through the `helm` program, version 3 or 4."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final

from chartkit.addons.operate.install.releases import (
    MARK,
    DesiredRelease,
    Release,
    failure,
    release_of,
)
from chartkit.network.cluster.client import Cluster
from chartkit.network.cluster.errors import ReleaseError
from chartkit.temporary import temporary_folder

_GRACE_SECONDS: Final = 60
"""Seconds that the program may take beyond its own timeout, for hooks."""
_ADVICE: Final = "\n\nUse --debug flag"


class ProgramReleases:
    """Helm as a program; Ctrl-C reaches it too, and it ends in order."""

    def __init__(
        self,
        program: str,
        cluster: Cluster,
        namespace: str,
        timeout: int,
        force_conflicts: bool = False,
        take_ownership: bool = False,
    ) -> None:
        """Create the port. force_conflicts: whether upgrades take over fields that another program
        wrote; only version 4 distinguishes them; take_ownership: whether releases take over objects
        that are there already."""
        self._forced = ["--force-conflicts"] if force_conflicts else []
        self._taken = ["--take-ownership"] if take_ownership else []
        self._program = program
        self._limit = timeout + _GRACE_SECONDS
        self._timeout = ["--timeout", f"{timeout}s"]
        self._place = ["--namespace", namespace]
        if cluster.kubeconfig is not None:
            self._place += ["--kubeconfig", str(cluster.kubeconfig)]
        if cluster.context:
            self._place += ["--kube-context", cluster.context]

    def read(self, name: str) -> Release | None:
        # The program says in words alone that there is no release; a list says it in data. Of
        # unfinished ones version 3 tells when it is asked for them.
        states = ["--deployed", "--failed", "--pending", "--superseded", "--uninstalling"]
        listed = self._json(["list", "--filter", f"^{name}$", *states])
        if not listed:
            return None
        metadata = self._json(["get", "metadata", name])
        status = self._json(["status", name])
        return release_of(metadata, status.get("manifest", ""), status.get("config"))

    def install(self, wanted: DesiredRelease) -> None:
        forced = self._forced if self._taken else []
        self._write(["install", wanted.name, "--create-namespace", *self._taken, *forced], wanted)

    def upgrade(self, wanted: DesiredRelease) -> None:
        more = [*self._forced, *self._taken]
        self._write(["upgrade", wanted.name, "--reset-values", *more], wanted)

    def uninstall(self, name: str, hooks: bool) -> None:
        more = [] if hooks else ["--no-hooks"]
        self._run(["uninstall", name, "--ignore-not-found", *self._timeout, *more])

    def _write(self, arguments: list[str], wanted: DesiredRelease) -> None:
        labels = ",".join(f"{key}={value}" for key, value in MARK.items())
        with temporary_folder() as folder:
            file = folder / "values.json"
            file.write_text(json.dumps(wanted.values), "utf-8")
            given = [str(wanted.chart), "--values", str(file), "--labels", labels]
            self._run([*arguments, *given, *self._timeout])

    def _json(self, arguments: list[str]) -> Any:
        return json.loads(self._run([*arguments, "-o", "json"]))

    def _run(self, arguments: list[str]) -> str:
        try:
            done = subprocess.run(
                [self._program, *arguments, *self._place],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=self._limit,
                check=False,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ReleaseError(f"'{self._program}' cannot be started: {reason}") from None
        except subprocess.TimeoutExpired:
            text = f"'{self._program} {arguments[0]}' gave no answer within {self._limit} s"
            raise ReleaseError(text) from None
        if done.returncode:
            text = done.stderr.partition(_ADVICE)[0].strip().removeprefix("Error: ")
            raise failure(text)
        return done.stdout
