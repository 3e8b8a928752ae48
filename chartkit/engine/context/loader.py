"""The result of a deferred value that adds nothing."""

from __future__ import annotations

from typing import Final

NOTHING: Final = object()
"""The result of a loader that adds nothing to the context."""
