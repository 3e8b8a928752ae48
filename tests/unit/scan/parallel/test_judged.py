"""Objects with their results, as they go from one process to another."""

import pickle
from collections.abc import Sequence

from chartkit.model import Location, Resource
from chartkit.scan.parallel.judged import judged
from chartkit.scan.parallel.reported import Shown


class _Built:
    """Places in several files, as those of an object that kustomize builds."""

    def locate(self, *path: str | int) -> Location:
        return Location("base.yaml", 7, 3, "/".join(map(str, path)), self)

    def character(self, _offset: int, *path: str | int) -> Location:
        return self.locate(*path)

    def value_of(self, *_path: str | int) -> None:
        return None

    def excerpt(self, _line: int) -> tuple[int, Sequence[str]]:
        return 0, ()


def test_a_changed_object_has_the_places_of_the_one_that_was_given() -> None:
    given = Resource({"kind": "Pod"}, Location("base.yaml", 1, places=_Built()))
    changed = Resource({"kind": "Pod", "spec": {}}, given.location)
    sent = pickle.loads(pickle.dumps(judged(changed, (), Shown(), given)))  # noqa: S301
    restored = sent.restored(given)
    assert (restored.body, str(restored.location.within("/spec"))) == (
        changed.body,
        "base.yaml:7:3",
    )
