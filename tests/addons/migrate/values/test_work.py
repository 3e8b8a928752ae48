"""The work of a migration grows with the file, whatever its shape."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import yaml

from chartkit.addons.migrate.values.run import LONGEST, MOST_VALUES, migrate
from chartkit.documents import reader
from chartkit.errors import InputError
from chartkit.output.yaml_tree import write_tree
from chartkit.values.moved import CHARTS
from tests.addons.migrate.values.values import document

SHAPES: dict[str, tuple[str, Callable[[int], str]]] = {
    "unknown keys": ("", lambda n: f"key{n}: v\n"),
    "unknown keys with comments": ("", lambda n: f"# About {n}.\nkey{n}: v\n\n"),
    "nulls and others": (
        "cleanupController:\n  resources:\n",
        lambda n: f"    # {n}\n\n    a{n}:\n    b{n}: 1\n",
    ),
    "nulls in braces": ("cleanupController: {resources: {", lambda n: f"a{n}: null, "),
    "nulls at the top": ("", lambda n: f"createSelfSignedCert{n}:\n"),
    "keys that move": ("podLabels:\n", lambda n: f"  key{n}: v\n"),
    "flags": ("extraArgs:\n", lambda n: f"- --flag{n}=x\n"),
    "one flag": ("extraArgs:\n", lambda n: f"- --v={n}\n"),
    "filters": ("config:\n  resourceFilters:\n", lambda n: f"  - '[Pod,ns{n},*]'\n"),
    "own filters": (
        "config:\n  resourceFilters:\n",
        lambda n: f"  - '[Pod,{{{{ include \"kyverno.fullname\" . }}}},{n}]'\n",
    ),
    "objects": ("tolerations:\n", lambda n: f"- key: k{n}\n  operator: Exists\n"),
    "actions": ("validationFailureActionOverrides: {", lambda n: f"a{n}: {{action: audit}}, "),
    "refused values": ("resources: {limits: {", lambda n: f"a{n}: [1], "),
    "aliases": ("x: &x {a: 1}\nz:\n", lambda n: f"  k{n}: *x\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_work_of_a_migration(shape: str) -> None:
    head, item = SHAPES[shape]
    closing = "}" * (head.count("{") - head.count("}"))

    def migrated(count: int) -> None:
        text = head + "".join(map(item, range(count))) + closing + "\n"
        migrate(document(text))

    migrated(10)
    small, large = calls_of(migrated, 200), calls_of(migrated, 800)
    assert large < 4.5 * small


def test_passes_over_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old text is composed once, and the new one read once."""
    composed, read = [], []
    compose, read_text = yaml.compose, reader.read_text

    def counted_compose(text: str, loader: Any) -> Any:
        composed.append(text)
        return compose(text, loader)

    def counted_read(text: str) -> Any:
        read.append(text)
        return read_text(text)

    old = document("nodeSelector:\n  a: b\n")
    migrate(old)
    monkeypatch.setattr("chartkit.addons.migrate.values.run.read_text", counted_read)
    monkeypatch.setattr("chartkit.output.yaml_tree_reader.yaml.compose", counted_compose)
    made = migrate(old)
    assert composed == [old.source.text]
    assert read == [made.text]


@pytest.mark.slow
@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("chart_key", ["foo", "config", "tolerations", "a: *x\nfoo"])
@pytest.mark.parametrize("value", ["- " * 50 + "x", "- " + "[" * 50 + "x" + "]" * 50])
def test_work_grows_with_what_no_chart_names(chart: str, chart_key: str, value: str) -> None:
    """Twice as many lists in lists, and lists in braces, cost twice as much."""
    line = f"  {value}\n"

    def migrated(count: int) -> None:
        migrate(document(f"x: &x {{}}\n{chart_key}:\n" + line * count), chart)

    migrated(2)
    few, some, many = (calls_of(migrated, count) for count in (25, 50, 100))
    assert many - some < 2.2 * (some - few)


@pytest.mark.parametrize(
    "text",
    [
        "foo:\n  a:  # of a\n    - - 1\n      # of 2\n      - 2\n  # below a\n\n# of b\nb: 1\n",
        "foo:\n  # of a\n  a: |+\n    text\n\n# of b\nb: 1\n",
        "foo:\n  a: [1,\n    2]  # of a\n\nb:\n  c: {d: null}\n  e:\n",
        "foo:  # of foo\n- - a: 1\n  - {b: 1}\n  # below\nb: &y\n  c: 1\nd: 1\n",
    ],
)
def test_what_is_not_opened_stays_as_it_is_written(text: str) -> None:
    assert migrate(document(text)).text == text


def test_aliases_in_what_no_chart_names() -> None:
    text = "x: &x\n  a: 1\nfoo:\n  # of b\n  b:\n    c: *x\n  d:\n    - - 1\n"
    made = migrate(document(text)).text
    assert made == text.replace(" *x", "\n      a: 1")


def test_aliases_in_lists() -> None:
    with pytest.raises(InputError, match=r"^old.yaml:3:5: has aliases in lists"):
        migrate(document("a: &x 1\nb:\n  - *x\n"))


def test_deep_values_are_looked_into_once() -> None:
    def written(depth: int) -> None:
        text = "".join(f"{' ' * level}a:\n" for level in range(depth)) + " " * depth + "b: 1\n"
        write_tree(document_tree(text))

    written(5)
    assert calls_of(written, 160) < 4.5 * calls_of(written, 40)


@pytest.mark.parametrize(
    "text",
    [
        "podLabels:\n" + "".join(f"  key{n}: v\n" for n in range(MOST_VALUES)),
        f"# {'a' * LONGEST}\npodLabels: {{a: b}}\n",
        f"a: &a [{'v, ' * 1_000}]\npodLabels:\n" + "".join(f"  k{n}: *a\n" for n in range(60)),
    ],
)
def test_a_file_that_is_larger_than_values_are(text: str) -> None:
    with pytest.raises(InputError, match="is larger than a values file"):
        migrate(document(text))


def document_tree(text: str) -> Any:
    from chartkit.output.yaml_tree_reader import read_tree

    return read_tree(document(text))


def calls_of(function: Callable[[int], None], count: int) -> int:
    """Return how many Python functions a call takes, generators' steps among them."""
    calls = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function(count)
    finally:
        sys.setprofile(None)
    return calls
