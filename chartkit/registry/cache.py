"""Documents by their digest: what a digest names never changes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Final

from chartkit.registry.settings import Limits

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


def digest_of(content: bytes) -> str:
    """The digest by which a registry names a document."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(text: str) -> bool:
    """Whether a text is a digest of the one kind that registries are asked for."""
    return _DIGEST.match(text) is not None


class Cache:
    """Documents of this run and, with a folder, of earlier ones; a file that is not what its name
    says counts as none."""

    def __init__(self, folder: Path | None, limits: Limits) -> None:
        self._folder = folder
        self._most = limits.document
        self._held: dict[str, bytes] = {}

    def get(self, scope: str, digest: str) -> bytes | None:
        """scope: registry and repository, so that nobody sees what one alone was shown."""
        found = self._held.get(f"{scope}@{digest}")
        if found is not None or self._folder is None:
            return found
        try:
            with self._path(scope, digest).open("rb") as file:
                content = file.read(self._most + 1)
        except OSError:
            return None
        return content if digest_of(content) == digest else None

    def put(self, scope: str, content: bytes) -> None:
        """Keeps a document; a folder that cannot be written to is left as it is."""
        digest = digest_of(content)
        self._held[f"{scope}@{digest}"] = content
        if self._folder is None:
            return
        path = self._path(scope, digest)
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)

    def _path(self, scope: str, digest: str) -> Path:
        folder = self._folder or Path()
        return folder / hashlib.sha256(scope.encode()).hexdigest()[:16] / digest.partition(":")[2]
