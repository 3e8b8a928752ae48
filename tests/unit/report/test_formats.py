"""Report formats: registered writers and plugins, notes, rows left out, and places of findings."""

import json
import pkgutil
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from chartkit import report
from chartkit.cli.scan import scan
from chartkit.errors import InputError
from chartkit.helm.render import render_chart
from chartkit.model import (
    Diagnostic,
    Json,
    Location,
    Resource,
    RuleResult,
    RuleType,
    Severity,
    Status,
)
from chartkit.report import FORMATS, ReportOptions, ReportPer, Writer, formats
from chartkit.report.finding import FindingSink, diagnostic_finding
from chartkit.report.formats import writer_of
from chartkit.report.json_report import JsonWriter, YamlWriter, json_text
from chartkit.report.model import Acceptance, AcceptedAs, field_places
from chartkit.report.policyreport import policy_report_writer
from chartkit.report.text import TextWriter
from chartkit.report.text.layout import grouped
from chartkit.suggestions import alternatives
from tests.data import from_table
from tests.unit.report.samples import options, samples, written

DOCS = Path(__file__).parents[3] / "docs"


def writers() -> Iterator[type]:
    """Yield the classes of the package that write results."""
    for each in pkgutil.walk_packages(report.__path__, "chartkit.report."):
        module = import_module(each.name)
        declared = (one for one in vars(module).values() if isinstance(one, type))
        for one in declared:
            if one.__module__ == each.name and one.__name__.endswith("Writer"):
                yield from {one} - {Writer}


def test_each_writer_is_a_format() -> None:
    registered = {
        type(make(ReportOptions({}, per=per))) for make in FORMATS.values() for per in ReportPer
    }
    assert set(writers()) == registered
    assert len(registered) > 4


@pytest.mark.parametrize("name", FORMATS)
def test_every_failure_may_be_known(name: str) -> None:
    known = Acceptance(AcceptedAs.KNOWN, "since 2024")
    added = [
        (resource, results, dict.fromkeys(range(len(results)), known))
        for resource, results, _ in samples()
    ]
    assert written(name, options(), added)


def test_help_names_each_format() -> None:
    (option,) = (each for each in scan.params if each.name == "outputs")
    assert alternatives(FORMATS) in str(getattr(option, "help", ""))


def test_documentation_names_each_format() -> None:
    listed = alternatives(f"`{name}`" for name in FORMATS)
    assert (
        f"| `-o`, `--output FORMAT[=FILE]` | {listed};" in (DOCS / "reference/scan.md").read_text()
    )


POD = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}})


def _result(status: Status, message: str, kind: str = "ValidatingPolicy") -> RuleResult:
    rule = "" if kind else "r"
    return RuleResult("only", rule, RuleType.VALIDATION, status, message, kind=kind)


def _text(per: ReportPer, *results: RuleResult) -> str:
    writer = policy_report_writer(ReportOptions(per=per))
    writer.add(POD, results)
    return "".join(writer.finish(Counter()))


@pytest.mark.parametrize("per", ReportPer)
def test_a_skip_by_match_conditions_is_no_row(per: ReportPer) -> None:
    skip = _result(Status.SKIP, "skip")
    assert _text(per, skip) == "# no results\n"
    text = _text(per, skip, _result(Status.PASS, "ok"))
    assert "result: skip" not in text
    assert "skip: 0" in text
    for other in (_result(Status.SKIP, "exempted by e"), _result(Status.SKIP, "skip", "")):
        assert "result: skip" in _text(per, skip, other)


def _row(message: str, line: int, severity: Severity = Severity.NOTE) -> Diagnostic:
    return Diagnostic("x", severity, message, Location("f.yaml", line), "do it")


def _lines(*rows: Diagnostic, lists_all: bool = False) -> list[str]:
    return [str(each) for each in grouped(rows, lists_all)]


def test_notes_of_one_kind_are_one_line_with_their_number() -> None:
    rows = [
        _row(f"Release 'r{at}': its chart is at oci://a/{at}: not scanned", at)
        for at in (1, 2, 3, 4)
    ]
    other = _row("something else", 9)
    assert _lines(rows[0], other, *rows[1:]) == [
        "f.yaml:1: note x: Release 'r1': its chart is at oci://a/1: not scanned; "
        "3 more of the kind, such as f.yaml:2 and f.yaml:3 (do it; --detailed lists all)",
        "f.yaml:9: note x: something else (do it)",
    ]
    assert _lines(rows[0], other, *rows[1:], lists_all=True) == list(
        map(str, [rows[0], other, *rows[1:]])
    )


def test_two_notes_and_errors_have_a_line_each() -> None:
    assert len(_lines(_row("a 1", 1), _row("a 2", 2))) == 2
    assert len(_lines(*(_row("a", at, Severity.ERROR) for at in range(9)))) == 9
    mixed = [
        _row("a", 1),
        _row("a", 2, Severity.WARNING),
        _row("a", 3),
        _row("a", 4, Severity.WARNING),
    ]
    assert len(_lines(*mixed)) == 4


def test_names_before_a_message_differ_within_a_kind() -> None:
    rows = [_row(f"policy-{at}: matches all Pods", at) for at in (1, 2, 3)]
    [line] = grouped(rows, severities=(Severity.NOTE,), more="-o json")
    assert str(line).endswith(
        "2 more of the kind, such as f.yaml:2 and f.yaml:3 (do it; -o json lists all)"
    )
    warnings = [_row("same", at, Severity.WARNING) for at in (1, 2, 3)]
    assert len(list(grouped(warnings, severities=(Severity.NOTE,)))) == 3


def test_each_place_is_named_once() -> None:
    rows = [_row(f"'a{at}': not scanned", line) for at, line in enumerate((1, 1, 2, 2, 3))]
    [line] = _lines(*rows)
    assert "4 more of the kind, such as f.yaml:2 and f.yaml:3 (" in line
    [line] = _lines(*(_row(f"'a{at}': not scanned", 1) for at in range(3)))
    assert "2 more of the kind (" in line


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        True,
        0,
        1.5,
        float("inf"),
        'a\n"b"é',
        [[], {}, [1, [2, {"a": []}]], ("x", None)],
        {"a": {"b": [{"c": "d"}, {}]}, "": 0, "é\n": False},
        {2: 1, None: 2, True: 3, 1.5: [4], "##": "##"},
    ],
)
def test_json_in_lines(value: Json) -> None:
    expected = json.dumps(value, indent=2, ensure_ascii=False).replace("##", "#\\u0023")
    assert json_text(value) == expected


def test_deep_json_in_lines() -> None:
    deep: Json = []
    for _ in range(700):
        deep = [deep]
    assert json.loads(json_text(deep)) == deep


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
@from_table("name", "problem")
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


RESULT = RuleResult(
    "p", "r", RuleType.VALIDATION, Status.FAIL, "no", fields=("/spec/ports/0/port", "/spec/type")
)


@pytest.mark.parametrize("writer", [JsonWriter, TextWriter, YamlWriter])
def test_a_field_of_a_chart_names_the_value_that_it_shows(tmp_path: Path, writer: object) -> None:
    chart = tmp_path / "app"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("service:\n  ports:\n  - port: 80\n")
    (chart / "templates/s.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  type: NodePort\n"
        "  ports:\n    {{- toYaml .Values.service.ports | nindent 4 }}\n"
    )
    (service,) = render_chart(chart, shown=Path("app")).resources
    port, kind = field_places(service, RESULT)
    assert port.members == {
        "field": "spec.ports[0].port",
        "location": "app/templates/s.yaml:7",
        "value": "service.ports[0].port",
        "valueLocation": "app/values.yaml:3:5",
    }
    assert kind.members == {"field": "spec.type", "location": "app/templates/s.yaml:5:3"}
    report = writer(ReportOptions())  # type: ignore[operator]
    report.add(service, [RESULT])
    text = "".join(report.finish(Counter({Status.FAIL: 1})))
    if writer is TextWriter:
        assert "app/templates/s.yaml:7  spec.ports[0].port (value service.ports[0].port of" in text
        return
    assert "service.ports[0].port" in text
    if writer is JsonWriter:
        (row,) = json.loads(text)["results"]
        assert {key: row[key] for key in port.members} == port.members
        assert row["fields"] == [port.members, kind.members]
