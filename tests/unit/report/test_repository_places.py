"""Places for platforms are relative to the root of the repository, wherever the command runs."""

from collections import Counter
from pathlib import Path

import pytest

from chartkit.model import Diagnostic, Location, Severity
from chartkit.report.finding import diagnostic_finding
from chartkit.report.formats import writer_of
from chartkit.report.model import ReportOptions

WANTED = {
    "github": "file=apps/web/pod.yaml,line=3",
    "azure": "sourcepath=apps/web/pod.yaml;linenumber=3",
    "gitlab": '"path": "apps/web/pod.yaml"',
    "sarif": '"uri": "apps/web/pod.yaml"',
}


@pytest.mark.parametrize("name", WANTED)
@pytest.mark.parametrize("where", [".", "apps", "apps/web", ".."])
def test_places_are_relative_to_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    root = tmp_path / "repo"
    (root / "apps" / "web").mkdir(parents=True)
    (root / ".git").mkdir()
    file = root / "apps" / "web" / "pod.yaml"
    file.write_text("a: b\n")
    monkeypatch.chdir(root / where)
    for given in (file, Path("apps/web/pod.yaml" if where == "." else file)):
        row = Diagnostic("x", Severity.ERROR, "wrong", Location(str(given), 3, 1))
        writer = writer_of(name)(ReportOptions())
        writer.write(diagnostic_finding(row))  # type: ignore[attr-defined]
        assert WANTED[name] in "".join(writer.finish(Counter()))
    assert str(row.location) == f"{given}:3:1"
