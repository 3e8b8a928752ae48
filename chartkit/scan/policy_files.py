"""Files of folders of policies that are of tests."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path

from chartkit.documents.reader import read_file
from chartkit.documents.unread import UNREADABLE
from chartkit.model import mapping_at, mappings_at

_TEST_FILES = frozenset({"kyverno-test.yaml", "kyverno-test.yml"})


_CHAINSAW_FILES = ("chainsaw-test.yaml", "chainsaw-test.yml")


_TEST_FOLDERS = frozenset({".chainsaw-test", ".kyverno-test", ".chainsaw"})


def is_test_file(file: Path) -> bool:
    """Report whether a file is of a test of policies: its policies are not meant themselves."""
    if file.name in _TEST_FILES or _TEST_FOLDERS.intersection(file.parts):
        return True
    return file.name in _expected_files(file.parent)


def _expected_files(folder: Path) -> frozenset[str]:
    """Return the files of a folder that its Chainsaw test compares objects with: they have parts of
    objects."""
    names: set[str] = set()
    for test in filter(Path.is_file, (folder / name for name in _CHAINSAW_FILES)):
        with suppress(*UNREADABLE):
            for document in read_file(test):
                steps = mappings_at(document.body, "spec", "steps")
                operations = (one for step in steps for one in mappings_at(step, "try"))
                for operation, key in product(operations, ("assert", "error")):
                    if isinstance(file := mapping_at(operation, key).get("file"), str):
                        names.add(file)
    return frozenset(names)
