"""The files below the folder of `--output`: new policies, and their tests with what these name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.files.surroundings import Mention
from chartkit.addons.migrate.files.texts import SEPARATOR, FileText, MigratedObject, object_text
from chartkit.documents.reader import read_source, read_text
from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.scan.inputs import STDIN
from chartkit.testing.model import TestFile
from chartkit.testing.reader import parse_tests

_OUTSIDE: Final = "names {name}, which is outside of the PATHs: the test below --output lacks it"


def targets(
    objects: Iterable[MigratedObject],
    files: Iterable[FileText],
    tests: Sequence[FileText],
    folder: Path,
    paths: Sequence[str],
) -> dict[Path, str]:
    """Return the texts of new files, each with the path of its legacy file below the input."""
    texts = {file.file: file.after for file in files}
    for each in objects:
        if each.legacy.document is None:
            file = each.legacy.resource.location.file
            before = texts.get(file, "")
            texts[file] = SEPARATOR.join(filter(None, (before, object_text([each]))))
    found: dict[Path, str] = {}
    for file, text in texts.items():
        target = folder / (_below(Path(file), paths) or _alone(file, paths))
        if target in found:
            hint = "give each PATH its own --output"
            raise InputError(f"would be written to {target}, as another file", Location(file), hint)
        found[target] = text
    return found | _with_tests(tests, folder, paths, found)


def _with_tests(
    tests: Iterable[FileText], folder: Path, paths: Sequence[str], known: Mapping[Path, str]
) -> dict[Path, str]:
    found: dict[Path, str] = {}
    for test in tests:
        below = _below(Path(test.file), paths)
        if below is None:
            continue
        found[folder / below] = test.after
        for _, file in _named(test):
            below = _below(file, paths)
            if below is not None and folder / below not in known:
                found.setdefault(folder / below, read_source(file))
    return found


def left_outside(tests: Iterable[FileText], paths: Sequence[str]) -> list[Mention]:
    """Return what tests name that is not below the input, and so in no folder of `--output`."""
    return [
        Mention(Location(test.file), _OUTSIDE.format(name=name))
        for test in tests
        for name, file in _named(test)
        if _below(file, paths) is None
    ]


def _named(test: FileText) -> Iterator[tuple[str, Path]]:
    """Yield the files that a test names, each once, with the names."""
    parsed = parse_tests(Path(test.file), read_text(test.after, test.file))
    names = dict.fromkeys(name for one in parsed for name in _names(one))
    for name in names:
        place = Path(test.file).parent / name
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from ((name, file) for file in files if file.is_file())


def _names(test: TestFile) -> Iterator[str]:
    yield from (*test.policies, *test.resources, *test.targets, *test.params, *test.payloads)
    yield from (*test.other_payloads, *test.exceptions, *test.cluster_resources)
    yield from filter(None, (test.context, test.variables, test.user_info))
    for one in test.expectations:
        yield from filter(None, (one.patched, *one.generated, one.clone_source))


def _below(file: Path, paths: Sequence[str]) -> Path | None:
    """Return a file's path below the input that it is in, or next to."""
    for path in map(Path, paths):
        root = path if path.is_dir() else path.parent
        if path.exists() and file.resolve().is_relative_to(root.resolve()):
            return file.resolve().relative_to(root.resolve())
    return None


def _alone(file: str, paths: Sequence[str]) -> Path:
    is_stdin = STDIN in paths and file == "<stdin>" and not Path(file).is_file()
    return Path("policies.yaml") if is_stdin else Path(Path(file).name)
