"""The tables know every key and argument of older charts, and the page shows them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.addons.migrate.values.report import braced
from chartkit.addons.migrate.values.transforms import TRANSFORMS
from chartkit.kyverno.versions import Version, parse_version
from chartkit.values.moved import CHARTS, ENGINE, Argument, Row, arguments, known, path, rows
from tests.addons.migrate.values.values import migrated, outcomes, refused

HERE = Path(__file__).parent
LATER = "1.19"


def facts(name: str) -> Iterator[tuple[str, list[str]]]:
    for line in (HERE / name).read_text("utf-8").splitlines()[1:]:
        key, versions = line.split("\t")
        yield key, versions.split()


KEYS = dict(facts("keys.tsv"))
FLAGS = dict(facts("flags.tsv"))


def covering(key: str, version: Version) -> list[Row]:
    """The rows that speak of a key, of what holds it, or of what it holds."""
    steps = path(key)
    return [
        row
        for each, row in rows(ENGINE).items()
        if (steps[: len(each)] == each or each[: len(steps)] == steps)
        and row.span.first <= version <= row.span.last
    ]


def test_keys_are_those_of_the_charts() -> None:
    assert len(KEYS) == 325
    assert {version for found in KEYS.values() for version in found} == {
        *("2.0", "2.1", "2.3", "2.4", "2.5", "2.6", "2.7"),
        *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8"),
    } - {version for version in ("3.6", "3.7", "3.8") if not of(version)}


def of(version: str) -> list[str]:
    return [key for key, versions in KEYS.items() if version in versions]


@pytest.mark.parametrize("key", KEYS)
def test_key_is_covered(key: str) -> None:
    for text in KEYS[key]:
        version = parse_version(text, "the chart")
        if not covering(key, version):
            assert known(ENGINE).has(path(key)), f"{key} of {version}"


@pytest.mark.parametrize("version", ["2.0", "2.4", "2.5", "2.6", "2.7"])
def test_no_key_is_unknown(version: str) -> None:
    """A file with every key of a chart, each with a text: none is a key that nobody knows."""
    values = "\n".join(f"{'.'.join(path(key))}" for key in of(version))
    text = _nested(values.splitlines())
    migration = migrated(text)
    assert migration.span.first <= parse_version(version, "the chart") <= migration.span.last
    unknown = [step.key for step in migration.steps if step.why == "No chart that is known had it."]
    assert unknown == []
    left = {key.partition(".")[0] for key in of(version)}
    new = {line.partition(":")[0] for line in migration.text.splitlines() if line[:1].strip()}
    gone = left - {entry for entry in left if known(ENGINE).has((entry,))}
    assert not gone & new


def _nested(keys: list[str]) -> str:
    tree: dict[str, object] = {}
    for key in keys:
        inner = tree
        *parents, last = key.split(".")
        for step in parents:
            found = inner.setdefault(step, {})
            assert isinstance(found, dict)
            inner = found
        inner[last] = "x"
    return "\n".join(_lines(tree, "")) + "\n"


def _lines(tree: dict[str, object], pad: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{pad}{key}:"
            yield from _lines(value, pad + "  ")
        else:
            yield f"{pad}{key}: {value}"


@pytest.mark.parametrize("row", rows(ENGINE).values(), ids=lambda row: row.name)
def test_row_is_of_a_chart(row: Row) -> None:
    """Rows are of keys that charts had, and go where the chart has something."""
    assert row.transform in TRANSFORMS
    for target in row.targets:
        assert known(ENGINE).has(target), target
    if row.span.last < Version(3, 0):
        names = [key for key in KEYS if path(key)[: len(row.key)] == row.key]
        assert names or row.name in ("sigstoreVolume",)


@pytest.mark.parametrize("flag", FLAGS)
def test_keys_argument(flag: str) -> None:
    assert flag in arguments()
    argument = arguments()[flag]
    for target in argument.targets:
        assert known(ENGINE).has(target), target
        if target[-1] == "extraArgs":
            assert LATER in FLAGS[argument.flag], f"{argument.flag} is not an argument of {LATER}"
    if not argument.targets and LATER in FLAGS[flag]:
        assert flag in ("serverIP", "kubeconfig")


VALUES = {"truth": "true", "number": "7", "list": "a,b", "scan": "2h", "text": "x"}


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if arguments()[flag].targets])
def test_argument_is_accepted(flag: str) -> None:
    """Every argument becomes values that the schema takes."""
    value = {
        "exceptionNamespace": "exceptions",
        "loggingFormat": "json",
        "otelConfig": "grpc",
        "backgroundScanInterval": "2h",
        "webhookRegistrationTimeout": "90s",
    }.get(flag, VALUES[arguments()[flag].kind])
    migration = migrated(f"extraArgs:\n  - --{flag}={value}\n")
    assert refused(migration.text) == []
    (outcome,) = outcomes(migration).values()
    assert outcome == "moved"


PAGE = Path(__file__).parents[4] / "docs" / "reference" / "migrate.md"
MARK = "<!-- Written from chartkit/values/moved/data: pytest --update-golden. Not by hand. -->\n"


def test_migrate_page_is_true(request: pytest.FixtureRequest) -> None:
    written, mark, listed = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    tables = "\n".join(page()) + "\n"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{written}{MARK}\n{tables}", "utf-8")
        return
    assert listed == f"\n{tables}"


def page() -> Iterator[str]:
    for chart in CHARTS:
        if chart != ENGINE:
            yield from ("", f"### {chart}", "")
        yield from ("| chart | old | new | why |", "|---|---|---|---|")
        yield from (row_line(row) for row in rows(chart).values())
    yield from ("", "### Arguments of Kyverno 1.4 to 1.9", "")
    yield from ("| old | new | why |", "|---|---|---|")
    for flag, argument in arguments().items():
        yield argument_line(flag, argument)


def row_line(row: Row) -> str:
    span = str(row.span).replace(" to ", "–")
    return f"| {span} | `{row.name}` | {targets(row)} | {words(row)} |"


def argument_line(flag: str, argument: Argument) -> str:
    return f"| `--{flag}` | {targets(argument)} | {words(argument)} |"


def targets(row: Row | Argument) -> str:
    places = tuple(".".join(each) for each in row.targets)
    return ", ".join(f"`{each}`" for each in braced(places)) or "–"


def words(row: Row | Argument) -> str:
    return f"{row.why} {row.do}".strip().replace("|", "\\|")
