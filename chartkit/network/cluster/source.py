"""A port for answers of an API server, from a live server or a recording; errors of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Protocol
from urllib.parse import urlencode

from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, mapping_at

EXPIRED: Final = 410
FORBIDDEN: Final = 403
MISSING: Final = 404
TOO_LARGE: Final = 413


class SourceError(ChartkitError):
    """The API server, or the recording, cannot be asked any more."""


class RefusedError(ChartkitError):
    """An answer that is an error; status: of HTTP; said: the server's own words, on one line."""

    exit_code: ClassVar[int] = 1

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said or f"HTTP {status}")
        self.status = status


class Source(Protocol):
    """Answers GET requests."""

    @property
    def fault(self) -> SourceError | None:
        """The reason why nothing can be asked any more; None as long as it can."""
        ...

    def get(self, path: str, /) -> Body:
        """Return the answer to a path with its query; raises RefusedError for an error, and
        SourceError without an answer."""
        ...


def with_query(path: str, query: Mapping[str, str]) -> str:
    """Return a path with a query, in a fixed order."""
    return f"{path}?{urlencode(sorted(query.items()))}" if query else path


class AnswerError(ValueError):
    """An answer that no API server gives; its text is what is said of the answer."""


def mapping_in(answer: Json) -> Body:
    """Return an answer that is a mapping; raise AnswerError for any other."""
    if not isinstance(answer, dict):
        raise AnswerError("is not a JSON object")
    return answer


def object_in(answer: Json) -> Body:
    """Return an answer that is an object; raise AnswerError for any other."""
    metadata = mapping_at(answer, "metadata")
    named = isinstance(metadata.get("name"), str)
    if not named or not isinstance(metadata.get("namespace"), str | None):
        raise AnswerError("is not an object")
    return mapping_in(answer)


def objects_in(page: Body) -> list[Body]:
    """Return the objects of a list; raise AnswerError for anything else."""
    items = page.get("items", "")
    if not str(page.get("kind", "List")).endswith("List") or not isinstance(items, list | None):
        raise AnswerError("is not a list")
    try:
        return [object_in(item) for item in items or ()]
    except AnswerError:
        raise AnswerError("lists something that is not an object") from None


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
