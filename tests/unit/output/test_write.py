import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.errors import InputError
from chartkit.output import write
from chartkit.output.values_merge import ConflictError
from tests.errors import error_of
from tests.loopback import at_length

PLAN = ChartPlan(
    "kyverno",
    {"Chart.yaml": "name: kyverno\n", "templates/a.yaml": "a: 1\n"},
    {"values.yaml": "# top\nreplicas: 1\n\nlast: true\n", "values_dev.yaml": "replicas: 2\n"},
)


def plan(files: dict[str, str] | None = None, values: dict[str, str] | None = None) -> ChartPlan:
    return ChartPlan(
        "kyverno", PLAN.files if files is None else files, PLAN.values if values is None else values
    )


def published(folder: Path, of: ChartPlan = PLAN) -> write.Tree:
    tree = write.compose(of, folder)
    write.publish(tree)
    return tree


def files_in(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("there", "named"), [("Chart.yaml/own.yaml", "Chart.yaml"), ("templates", "templates")]
)
def test_what_takes_the_place_of_a_generated_file_is_named(
    tmp_path: Path, there: str, named: str
) -> None:
    folder = tmp_path / "charts" / "kyverno"
    (folder / there).parent.mkdir(parents=True)
    (folder / there).write_text("own: 1\n")
    with pytest.raises(InputError, match=r"^\S+: is in the way") as caught:
        write.publish(write.Tree(folder, PLAN.files))
    assert str(caught.value.location) == str(folder / named)
    assert files_in(folder) == {there}


def test_a_chart_and_its_record(tmp_path: Path) -> None:
    folder = tmp_path / "charts" / "kyverno"
    tree = published(folder)
    assert files_in(folder) == {
        "Chart.yaml",
        "templates/a.yaml",
        "values.yaml",
        "values_dev.yaml",
        ".helmignore",
        ".chartkit/values.yaml",
        ".chartkit/values_dev.yaml",
        ".chartkit/files.json",
    }
    assert (folder / ".helmignore").read_text() == ".chartkit/\n"
    assert write.unchanged(tree)
    assert write.drift(write.compose(PLAN, folder)) == ""


def test_hand_edits_of_values_are_no_drift_and_survive(tmp_path: Path) -> None:
    folder = tmp_path / "kyverno"
    published(folder)
    values = folder / "values.yaml"
    values.write_text(values.read_text().replace("replicas: 1", "replicas: 5  # mine"))
    assert write.drift(write.compose(PLAN, folder)) == ""
    changed = {**PLAN.values, "values.yaml": "# top\nreplicas: 1\n\nlast: false\n"}
    tree = published(folder, plan(values=changed))
    assert values.read_text() == "# top\nreplicas: 5  # mine\n\nlast: false\n"
    assert tree.files[".chartkit/values.yaml"] == changed["values.yaml"]
    assert write.drift(write.compose(plan(values=changed), folder)) == ""


def test_a_conflict_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "kyverno"
    published(folder)
    (folder / "values_dev.yaml").write_text("replicas: 9\n")
    before = {name: (folder / name).read_bytes() for name in files_in(folder)}
    with pytest.raises(ConflictError) as caught:
        published(folder, plan(values={**PLAN.values, "values_dev.yaml": "replicas: 3\n"}))
    assert str(caught.value.location) == f"{folder}/values_dev.yaml:1:1"
    assert {name: (folder / name).read_bytes() for name in files_in(folder)} == before


def test_drift_is_a_diff(tmp_path: Path) -> None:
    folder = tmp_path / "kyverno"
    published(folder)
    (folder / "templates" / "a.yaml").write_text("a: 2\n")
    (folder / "Chart.yaml").unlink()
    tree = write.compose(PLAN, folder)
    diff = write.drift(tree)
    assert f"--- {folder}/templates/a.yaml\n" in diff
    assert "-a: 2\n+a: 1\n" in diff
    assert "+name: kyverno\n" in diff
    (edited,) = tree.diagnostics()
    assert str(edited.location) == f"{folder}/templates/a.yaml:1"
    assert "was changed by hand" in edited.message


def test_what_is_no_longer_generated_goes_and_what_people_added_stays(tmp_path: Path) -> None:
    folder = tmp_path / "kyverno"
    published(folder)
    (folder / "values_own.yaml").write_text("mine: 1\n")
    (folder / "docs").mkdir()
    (folder / "docs" / "note.md").write_text("mine\n")
    (folder / "link").symlink_to("docs/note.md")
    smaller = plan({"Chart.yaml": "name: kyverno\n"}, {"values.yaml": PLAN.values["values.yaml"]})
    assert "a: 1" in write.drift(write.compose(smaller, folder))
    published(folder, smaller)
    there = files_in(folder)
    assert not {"templates/a.yaml", "values_dev.yaml", ".chartkit/values_dev.yaml"} & there
    assert {"values_own.yaml", "docs/note.md", "link"} <= there
    assert (folder / "link").is_symlink()


def test_an_edited_values_file_of_an_environment_that_went_stays(tmp_path: Path) -> None:
    folder = tmp_path / "kyverno"
    published(folder)
    (folder / "values_dev.yaml").write_text("replicas: 7\n")
    published(folder, plan(values={"values.yaml": PLAN.values["values.yaml"]}))
    assert (folder / "values_dev.yaml").read_text() == "replicas: 7\n"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"files": []}', '{"files": {"../../x": "0"}}', '{"files": {"/x": "0"}}']
)
def test_a_broken_record_is_an_input_error(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "kyverno"
    published(folder)
    (folder / ".chartkit" / "files.json").write_text(text)
    with pytest.raises(InputError, match="is not a record of chartkit's"):
        write.compose(PLAN, folder)


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "charts").write_text("a file\n")
    monkeypatch.chdir(tmp_path)
    assert str(error_of(InputError, published, Path("charts/kyverno")).location) == "charts/kyverno"


_WRITER = """
import sys
from pathlib import Path
from chartkit.output import write
from chartkit.charts.plan import ChartPlan

folder = Path(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    number += 1
    files = {f"templates/{i}.yaml": f"{number}\\n" for i in range(40)}
    values = {"values.yaml": f"a: {number}\\n"}
    write.publish(write.compose(ChartPlan("kyverno", files, values), folder))
"""


@pytest.mark.parametrize("attempt", range(8))
def test_killed_at_any_moment_one_whole_chart_is_there(tmp_path: Path, attempt: int) -> None:
    folder = tmp_path / "charts" / "kyverno"
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert at_length(folder.exists)
    time.sleep(0.011 * attempt)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    texts = {(folder / f"templates/{i}.yaml").read_text() for i in range(40)}
    assert len(texts) == 1
    number = texts.pop().strip()
    assert (folder / "values.yaml").read_text() == f"a: {number}\n"
    assert (folder / ".chartkit" / "values.yaml").read_text() == f"a: {number}\n"
    assert len(json.loads((folder / ".chartkit" / "files.json").read_text())["files"]) == 41
    published(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["kyverno"]
