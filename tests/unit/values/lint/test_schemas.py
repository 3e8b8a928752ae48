"""A chart's own schema that is none: an error with its place, whatever it holds."""

from pathlib import Path

import pytest

from chartkit.cli import main

SCHEMAS = [
    "",
    "[]",
    "3",
    '{"type": 5}',
    '{"type": "strin"}',
    '{"properties": 3}',
    '{"properties": {"a": {"type": ["x"]}}}',
    '{"properties": {"a": {"pattern": "((("}}}',
    '{"properties": {"a": {"minLength": "x"}}}',
    '{"$ref": "#"}',
    '{"$ref": "#/x"}',
    '{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}',
    '{"allOf": []}',
    '{"enum": 1, "required": "a", "items": 1}',
    '{"a": NaN}',
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_that_is_none(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    Path("values.yaml").write_text("a: x\n")
    Path("v.yaml").write_text("a: y\n")
    Path("values.schema.json").write_text(schema)
    with pytest.raises(SystemExit) as ended:
        main(["values", "lint", "--chart", ".", "v.yaml"])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
