"""Answers of an API server: objects, and lists of these."""

from __future__ import annotations

from chartkit.model import Body, Json, mapping_at


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
        return [object_in(each) for each in items or ()]
    except AnswerError:
        raise AnswerError("lists something that is not an object") from None
