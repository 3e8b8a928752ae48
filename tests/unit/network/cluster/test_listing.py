"""Many objects, page by page: no more than a page of them is held."""

import weakref
from urllib.parse import parse_qs, urlsplit

from chartkit.model import Body
from chartkit.network.cluster.reader import PAGE, listed

OBJECTS = 50_000


class _Spec(dict[str, str]):
    """A part of an object that can be watched while it is held."""


class _Many:
    """A server with a list of many Pods; held: how many of them anybody has still."""

    fault = None

    def __init__(self) -> None:
        self.pages = 0
        self._given: list[weakref.ref[_Spec]] = []

    @property
    def held(self) -> int:
        self._given = [each for each in self._given if each() is not None]
        return len(self._given)

    def get(self, path: str, /) -> Body:
        query = parse_qs(urlsplit(path).query)
        start, size = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        self.pages += 1
        specs = [_Spec() for _ in range(size)]
        self._given += map(weakref.ref, specs)
        items = [
            {"metadata": {"name": f"p{start + index}", "namespace": "a"}, "spec": spec}
            for index, spec in enumerate(specs)
        ]
        following = "" if start + size >= OBJECTS else str(start + size)
        return {"metadata": {"continue": following}, "items": items}


def test_fifty_thousand_objects() -> None:
    source = _Many()
    names: set[str] = set()
    for body in listed(source, "/api/v1/pods", "v1", "Pod"):
        assert body["kind"] == "Pod"
        names.add(body["metadata"]["name"])
        if len(names) % PAGE == 1:
            # The page that is handed on, and what is left of the one before.
            assert source.held <= 2 * PAGE
    assert len(names) == OBJECTS
    assert source.pages == OBJECTS / PAGE
