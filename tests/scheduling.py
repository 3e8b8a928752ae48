"""Files of tests for pytest-xdist's workers, without its search through all tests for each one."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]


class _Names(list[str]):
    """Names of tests that know their place."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._places = {name: place for place, name in enumerate(names)}

    def index(self, name: str, *_: SupportsIndex) -> int:
        return self._places[name]


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]
    """`--dist loadfile`; a file whose tests are done is not counted again with each later test."""

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = _Names(collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        files = self.assigned_work[node]
        file = self._split_scope(self.registered_collections[node][item_index])
        if all(files[file].values()):
            del files[file]
