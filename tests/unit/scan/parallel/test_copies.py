"""What goes from one process to another: copies of what is read once, and objects with results."""

import gzip
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from chartkit.model import Location, Places, Resource
from chartkit.scan.parallel import streaming
from chartkit.scan.parallel.judged import judged
from chartkit.scan.parallel.partition import Slice
from chartkit.scan.parallel.reported import Shown
from chartkit.scan.parallel.streaming import Copies, Stream, open_stream
from chartkit.scan.requests import InputOptions

_PADDING = "".join(f"{number * 7919 % 1000003}" for number in range(60_000))
_TEXT = "".join(
    f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\ndata:\n  a: {_PADDING}\n"
    for number in range(4)
)


@pytest.fixture
def made() -> Iterator[Copies]:
    made = Copies()
    yield made
    made.close()


def _opened(path: Path | str, made: Copies) -> Stream | None:
    options = SimpleNamespace(paths=(str(path),), crds=(), exclude=(), api_defaults=False)
    return open_stream(cast(InputOptions, options), made)


def _stream(path: Path | str, made: Copies) -> Stream:
    stream = _opened(path, made)
    assert stream is not None
    return stream


def _names(stream: Stream) -> set[str]:
    return {each.shown for part in stream.parts for each in part.slices if isinstance(each, Slice)}


def test_standard_input_is_copied_and_still_to_be_read(tmp_path: Path, made: Copies) -> None:
    file = tmp_path / "input"
    file.write_text(_TEXT)
    with file.open() as stdin, made.read_stdin(stdin) as copy:
        stream = _stream("-", made)
        assert stream.paths == ["-"]
        assert _names(stream) == {"<stdin>"}
        assert copy.read() == _TEXT


def test_standard_input_that_is_no_file_stays(made: Copies) -> None:
    stdin = io.StringIO(_TEXT)
    assert made.read_stdin(stdin) is stdin
    assert _opened("-", made) is None


def test_what_is_compressed_is_read_in_parts(tmp_path: Path, made: Copies) -> None:
    content = _TEXT.encode()
    file = tmp_path / "a.yaml.gz"
    file.write_bytes(gzip.compress(content[:9]) + gzip.compress(content[9:], 1))
    stream = _stream(tmp_path, made)
    assert stream.size == len(content)
    assert len(stream.parts) > 1
    assert _names(stream) == {str(file)}
    whole = file.read_bytes()
    for broken in (whole[:-9], b"x" + whole, whole[:100_000] + b"x" * 100 + whole[100_100:]):
        file.write_bytes(broken)
        assert _opened(file, made) is None


def test_too_much_is_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Copies) -> None:
    monkeypatch.setattr(streaming, "LARGEST", 1 << 20)
    file = tmp_path / "a.yaml.gz"
    file.write_bytes(gzip.compress(b"#" * (3 << 20)))
    assert made.decompressed(file) is None
    with (tmp_path / "nul").open("w+") as stdin:
        stdin.write("a: \0")
        stdin.seek(0)
        made.read_stdin(stdin).close()
    assert made.stdin is None


class _Built(Places):
    """Places in several files, as those of an object that kustomize builds."""

    def locate(self, *path: str | int) -> Location:
        return Location("base.yaml", 7, 3, "/".join(map(str, path)), self)


def test_a_changed_object_has_the_places_of_the_one_that_was_given() -> None:
    given = Resource({"kind": "Pod"}, Location("base.yaml", 1, places=_Built()))
    changed = Resource({"kind": "Pod", "spec": {}}, given.location)
    sent = pickle.loads(pickle.dumps(judged(changed, (), Shown(), given)))  # noqa: S301
    restored = sent.restored(given)
    assert (restored.body, str(restored.location.within("/spec"))) == (
        changed.body,
        "base.yaml:7:3",
    )
