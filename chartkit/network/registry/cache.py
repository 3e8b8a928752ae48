"""Documents by their digest: what a digest names never changes."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path
from typing import Final

from chartkit.atomic import replacing
from chartkit.network.lookup_cache import Memory
from chartkit.network.registry.settings import Limits

_PRIVATE: Final = 0o600
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


def digest_of(content: bytes) -> str:
    """Return the digest by which a registry names a document."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(text: str) -> bool:
    """Tell whether a text is a SHA-256 digest, the only kind that is requested."""
    return _DIGEST.match(text) is not None


class Cache:
    """Documents of this run and, with a folder, of earlier ones; a file that is not what its name
    says counts as none. Of those in memory the ones asked for longest ago are forgotten first."""

    def __init__(self, folder: Path | None, limits: Limits, owner: str) -> None:
        """Create a cache. owner: a name for the credentials; the same for the same rights."""
        self._folder = folder
        self._owner = owner
        self._most = limits.document
        self._held: Memory[str, bytes] = Memory(
            limits.held, lambda _, content: len(content) if isinstance(content, bytes) else 0
        )

    def get(self, scope: str, digest: str) -> bytes | None:
        """Return a document, None if it is not cached. scope: registry and repository, so that
        nobody sees a document that only others may."""
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
        """Keep a document, except in a folder that cannot be written to."""
        digest = digest_of(content)
        self._held.put(f"{scope}@{digest}", content)
        if self._folder is None or len(content) > self._most:
            return
        path = self._path(scope, digest)
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(path, _PRIVATE) as file:
                file.write(content)

    def _path(self, scope: str, digest: str) -> Path:
        folder = self._folder or Path()
        return (
            folder
            / hashlib.sha256(f"{self._owner} {scope}".encode()).hexdigest()[:16]
            / digest.partition(":")[2]
        )
