"""Formats of other packages: an entry point adds one, and a broken one is a clear error."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.report import FORMATS, ReportOptions, formats
from chartkit.report.finding import FindingSink
from tests.unit.report.samples import options, samples, written

PLUGIN = """\
class Counted:
    def __init__(self, options):
        self.rows = 0

    def add(self, resource, results, accepted={}):
        self.rows += len(results)

    def finish(self, counts):
        yield f"{self.rows} rows\\n"


nothing = None
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with formats: one that works, one for each way not to, and one that is taken."""
    (tmp_path / "counting.py").write_text(PLUGIN)
    (tmp_path / "broken.py").write_text("1 / 0")
    info = tmp_path / "counting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[chartkit.reports]\ncounted = counting:Counted\nmissing = no_such_module:Writer\n"
        "broken = broken:Writer\nnothing = counting:nothing\njson = counting:Counted\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    formats._added.cache_clear()
    yield
    formats._added.cache_clear()
    sys.modules.pop("counting", None)


@pytest.mark.usefixtures("plugin")
def test_a_package_adds_a_format() -> None:
    assert written("counted", options(), samples()) == "8 rows\n"
    assert formats.names() == (*FORMATS, "counted", "missing", "broken", "nothing")
    assert written("json", options(), samples()).startswith("{")


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing", "of counting cannot be loaded: ModuleNotFoundError: No module named"),
        ("broken", "of counting cannot be loaded: ZeroDivisionError: division by zero"),
        ("nothing", "of counting is not a writer: counting:nothing"),
        ("countd", "unknown report format 'countd' .did you mean 'counted'"),
    ],
)
def test_a_broken_package_is_one_clear_line(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        formats.writer_of(name)
    assert "\n" not in str(raised.value)


def test_built_in_formats_read_no_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(**_given: object) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr("importlib.metadata.entry_points", read)
    formats._added.cache_clear()
    for name in FORMATS:
        formats.writer_of(name)(ReportOptions())


def test_a_module_of_the_folder_is_a_format() -> None:
    folder = Path(formats.__file__).parent
    modules = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert {"csv", "gitlab", "sarif"} <= modules <= FORMATS.keys()
    for name in modules:
        assert isinstance(formats.writer_of(name)(ReportOptions()), FindingSink)
