"""Helm with the rights of its user: for calls that need the network, the kubeconfig or a login.

The program `helm` is started for each call, or the library in a process of its own
(`library_command`), which takes the same arguments. Nothing confines it: what it installs was
rendered within limits before.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from chartkit.errors import ChartkitError
from chartkit.helm.backend import chosen_program, library_folder
from chartkit.helm.program import error_text
from chartkit.helm.sandbox.process import python_command
from chartkit.safe_text import shown

_ENDING_SECONDS: Final = 10
"""Seconds that a call may take to end after Ctrl-C."""
_CODE: Final = "from chartkit.helm.library import main; main(*sys.argv[1:])"
_WARNING: Final = re.compile(r'^I\d{4} .* warnings\.go:\d+\] "?(?:Warning: )?(.*?)"?$', re.M)
"""A warning of the API server, which Go's client logs for each object."""


class HelmCallError(ChartkitError):
    """Helm cannot be started, or gives no answer."""

    exit_code: ClassVar[int] = 1


class HelmRefusedError(HelmCallError):
    """Helm did not do what it was asked to do; the message is Helm's own text."""


class HelmClient:
    """Helm for its user. Every call raises HelmCallError."""

    def __init__(self, limit: float, flags: Sequence[str] = ()) -> None:
        """Create the client. limit: seconds of a call; flags: arguments of each call.

        Raises HelmMissingError where there is no Helm.
        """
        self._program = chosen_program()
        self._limit = limit
        self._flags = flags
        self._shown: set[str] = set()

    def release(self, name: str) -> tuple[Any, Any] | None:
        """Return what `helm get metadata` and `helm status` have of a release, None without one."""
        if self._program is None:
            metadata, status = self._json(["read", name])
            return (metadata, status) if metadata else None
        # The program says in words alone that there is no release; a list says it in data. Of
        # unfinished ones version 3 tells when it is asked for them.
        states = ["--deployed", "--failed", "--pending", "--superseded", "--uninstalling"]
        if not self._json(["list", "--filter", f"^{name}$", *states]):
            return None
        return self._json(["get", "metadata", name]), self._json(["status", name])

    def _json(self, arguments: list[str]) -> Any:
        return json.loads(self.run([*arguments, "--output", "json"])[0])

    def run(self, arguments: Sequence[str]) -> tuple[str, str]:
        """Run a command of Helm's, and return its standard output and error. Warnings of the API
        server are printed, each once. Ctrl-C ends the call in order."""
        command = [self._program or "", *arguments, *self._flags]
        executable = None
        if self._program is None:
            # Under server-side apply a list such as `validationActions` belongs to those who wrote
            # its items, and Helm writes as the process is called: it must not be `python`.
            code = [*python_command(_CODE)[1:], str(library_folder())]
            command = [os.path.join(sys.prefix, "helm"), *code, *command[1:]]
            executable = sys.executable
        try:
            process = subprocess.Popen(
                command,
                executable=executable,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise HelmCallError(f"'{command[0]}' cannot be started: {reason}") from None
        with process:
            try:
                out, err = process.communicate(timeout=self._limit)
            except subprocess.TimeoutExpired:
                raise HelmCallError(f"Helm gave no answer within {self._limit:g} s") from None
            except KeyboardInterrupt:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=_ENDING_SECONDS)
                raise
            finally:
                process.kill()
        for warning in _WARNING.findall(err):
            if warning not in self._shown:
                self._shown.add(warning)
                sys.stderr.write(f"warning of the API server: {shown(warning)}\n")
        if process.returncode:
            raise HelmRefusedError(" ".join(error_text(err).split()))
        return out, err
