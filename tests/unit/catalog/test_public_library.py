"""The public Kyverno library, where it stands beside the project: all of it is vendored and
indexed as it is laid out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from chartkit.catalog.index import read_index
from chartkit.catalog.libraries import libraries, read_catalogue
from chartkit.catalog.model import Entry
from chartkit.catalog.search import Query, find, search
from chartkit.catalog.show import as_text, details
from chartkit.catalog.vendor import vendor
from chartkit.chart.locked import verify
from chartkit.documents import read_file
from chartkit.errors import InputError
from tests.shared import shared
from tests.unit.fetch.archive_files import tar_gz
from tests.unit.fetch.hostile_server import body, serving

_FORMS = ("ClusterPolicy", "ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "Policy")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = shared("conformance/policy-library")
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    folder = tmp_path_factory.mktemp("project")
    with serving({"/kyverno.tar.gz": body(tar_gz(files))}) as server:
        vendor(f"{server.url}/kyverno.tar.gz", folder)
    return folder


@pytest.fixture(scope="module")
def entries(project: Path) -> tuple[Entry, ...]:
    catalogue = read_catalogue(libraries(project))
    assert catalogue.problems == ()
    return catalogue.entries


def test_every_policy_is_there_once_under_its_folders_name(project: Path) -> None:
    root = project / "vendor" / "kyverno"
    assert verify(root) == []
    indexed = read_index("kyverno", root)
    files = {
        path
        for path in root.rglob("*.yaml")
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
        and any(
            document.body.get("kind") in _FORMS and "spec" in document.body
            for document in read_file(path)
        )
    }
    assert {Path(entry.file) for entry in indexed.entries} == files
    assert len(indexed.entries) == len(files)
    for entry in indexed.entries:
        assert str(root / entry.reference) == str(Path(entry.file).parent)
    names = Counter(entry.name for entry in indexed.entries)
    assert sum(count > 1 for count in names.values()) > 100


def test_every_policy_says_what_it_is(entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        assert entry.title, entry.qualified
        assert entry.kinds, entry.qualified
        assert entry.subjects, entry.qualified
        assert entry.minimum, entry.qualified


def test_policies_are_found_and_shown(project: Path, entries: tuple[Entry, ...]) -> None:
    found = search(entries, Query(("probes",), library="kyverno"))
    assert "best-practices/require-probes" in {entry.reference for entry in found}
    with pytest.raises(InputError, match="policies 'require-probes'"):
        find(entries, "require-probes")
    entry = find(entries, "best-practices/require-probes")
    text = as_text(details(entry, project / "vendor" / "kyverno"))
    assert "an example that it refuses: " in text
    assert "an example that it accepts: " in text
