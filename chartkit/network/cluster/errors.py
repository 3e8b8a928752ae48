"""Errors of live clusters and releases; the boundary in `chartkit.cli` turns them into lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from chartkit.errors import ChartkitError


class ClusterError(ChartkitError):
    """The cluster cannot be asked: no kubeconfig, no such context, no answer, no permission."""


class NoAnswerError(ClusterError):
    """The API server did not answer, or failed to: another try may do better."""


class ReleaseError(ChartkitError):
    """Helm could not do what it was asked to do with a release."""

    exit_code: ClassVar[int] = 1


class NotReadyError(ChartkitError):
    """Something did not become ready in time."""

    exit_code: ClassVar[int] = 1


class CutShortError(ChartkitError):
    """A step failed, or the user interrupted it, after others were done.

    stands: what stands in the cluster, a line each; on: the command that goes on from there;
    by: Ctrl-C or SIGTERM, None where it failed.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        reason: str,
        hint: str | None,
        stands: Sequence[str],
        on: str,
        by: KeyboardInterrupt | None = None,
    ) -> None:
        super().__init__(reason, None, hint)
        self.stands = tuple(stands)
        self.on = on
        self.by = by
