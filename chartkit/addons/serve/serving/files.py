"""Policies of a server from files, read again when any of them changes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chartkit.addons.serve.admission.served_policies import Served
from chartkit.addons.serve.serving.surroundings import served
from chartkit.documents.unread import strict
from chartkit.errors import CompileError, InputError
from chartkit.model import Diagnostic
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import is_remote
from chartkit.scan.options import RequestOptions
from chartkit.scan.requests import load_requests

Signature = Mapping[str, tuple[int, int, int]]
"""The time, size and identity of each file."""


@dataclass
class FileSource:
    """Policies and objects of files; environment: gives that of a project, None for the policies
    that the options name."""

    options: RequestOptions
    environment: Callable[[], ProjectEnvironment] | None = None
    _roots: tuple[Path, ...] = ()
    _seen: Signature = field(default_factory=dict)

    def load(self) -> Served:
        """Return the policies of the files; raise ChartkitError, also for a single policy that
        does not compile."""
        options = self.options
        environment = None if self.environment is None else self.environment()
        given = (*options.exceptions, *options.values)
        named = (*options.paths, *options.named_policies, *options.crds, *given)
        own = environment.sources if environment is not None else ()
        self._roots = (
            *(Path(each) for each in named if not is_remote(each)),
            *filter(None, (options.userinfo, options.context_file)),
            *own,
        )
        self._seen = dict(_signature(self._roots))
        notes: list[Diagnostic] = []
        requests = load_requests(
            options,
            io.StringIO(),
            strict(notes.append),
            environment=environment,
            needs_objects=False,
        )
        if requests.policies.diagnostics:
            raise CompileError(requests.policies.diagnostics)
        if not requests.policies.policies:
            raise InputError("there is no policy to judge with", hint="-p names some")
        world = requests.world()
        return served(requests, lambda: world, environment, notes)

    def changed(self) -> bool:
        """Return whether a file is new, gone or another than when they were last looked at."""
        found = dict(_signature(self._roots))
        if found == self._seen:
            return False
        self._seen = found
        return True

    def close(self) -> None:
        """Do nothing: files are looked at when the server asks."""


def _signature(roots: tuple[Path, ...]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    for root in roots:
        if root.is_dir():
            for folder, _, names in os.walk(root, followlinks=True):
                for name in names:
                    yield from _state(os.path.join(folder, name))
        else:
            yield from _state(str(root))


def _state(file: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    try:
        found = os.stat(file)
    except OSError:
        return
    yield file, (found.st_mtime_ns, found.st_size, found.st_ino)
