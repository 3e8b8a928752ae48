import json
from pathlib import Path

import pytest

from chartkit.output.write import Tree
from chartkit.render.manifests import drift


@pytest.mark.parametrize(
    "record", [None, "", "null", "[]", '{"a.yaml": 1}', "[" * 100_000, "\ud800"]
)
def test_manifests_next_to_no_usable_record_are_compared(
    tmp_path: Path, record: str | None
) -> None:
    folder = tmp_path / "rendered" / "dev"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text("a: 1\n")
    if record is not None:
        (folder / ".chartkit").write_bytes(record.encode("utf-8", "surrogatepass"))
    wanted = json.dumps({"a.yaml": {"manifests": "", "chart": ""}})
    text, rows = drift([Tree(folder, {"a.yaml": "a: 2\n", ".chartkit": wanted})])
    assert "-a: 1\n+a: 2\n" in text
    assert [str(row.location) for row in rows] == [str(folder)]
