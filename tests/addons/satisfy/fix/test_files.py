"""The files that a fix may write, standard input, and options that do not go with it."""

import difflib
from pathlib import Path

import pytest

from chartkit.addons.satisfy.fix.files import diff
from chartkit.addons.satisfy.fix.model import FileText
from chartkit.errors import InputError
from tests.addons.satisfy.fix.runs import fix, written
from tests.data import from_table

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true, containers: []}\n"
FIXED = POD.replace("true", "false")


def test_links_that_lead_out_of_the_inputs_are_not_followed(tmp_path: Path) -> None:
    objects = written(tmp_path, other=FIXED)
    outside = tmp_path / "outside.yaml"
    outside.write_text(POD)
    (objects / "pod.yaml").symlink_to(outside)
    done = fix(objects)
    assert "the file is outside of the inputs" in done.stdout
    assert outside.read_text() == POD
    assert done.exit_code == 1


def test_links_inside_the_inputs_are_followed(tmp_path: Path) -> None:
    objects = written(tmp_path, pod=POD)
    (objects / "second.yaml").symlink_to("pod.yaml")
    assert fix(objects, path=str(objects / "second.yaml")).exit_code == 0
    assert (objects / "pod.yaml").read_text() == FIXED
    assert (objects / "second.yaml").is_symlink()


def test_files_that_are_not_writable_are_listed(tmp_path: Path) -> None:
    objects = written(tmp_path, pod=POD)
    (objects / "pod.yaml").chmod(0o444)
    done = fix(objects)
    assert "Pod/a pods/host: the file is not writable\n" in done.stdout
    assert (objects / "pod.yaml").read_text() == POD
    assert fix(objects, "--diff").stdout.count("\n+spec: {hostNetwork: false") == 1


def test_compressed_files_are_listed(tmp_path: Path) -> None:
    import gzip

    objects = written(tmp_path)
    objects.mkdir()
    (objects / "pod.yaml.gz").write_bytes(gzip.compress(POD.encode()))
    assert "the file is compressed" in fix(objects).stdout


@pytest.mark.parametrize("text", [POD, FIXED])
def test_standard_input_is_printed_fixed(tmp_path: Path, text: str) -> None:
    objects = written(tmp_path)
    done = fix(objects, stdin=text, path="-")
    assert done.stdout == FIXED
    assert "fail: 0" in done.stderr
    diff = fix(objects, "--diff", stdin=text, path="-")
    assert diff.stdout.count("\n") == (0 if text == FIXED else 8)


def test_other_reports_leave_standard_output_alone(tmp_path: Path) -> None:
    objects = written(tmp_path, pod=POD)
    done = fix(objects, "-o", "json")
    assert done.stdout.startswith("{")
    assert done.stderr.startswith(f"fixed {objects}/pod.yaml: ")


@from_table("arguments", "said")
def test_options_that_do_not_go_with_a_fix(tmp_path: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fix(written(tmp_path, pod=POD), *arguments)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n", "b\n"),
        ("a\n", "a\nb\n"),
        ("", "a\n"),
        ("".join(f"{n}\n" for n in range(30)), "".join(f"{n % 29}\n" for n in range(1, 31))),
    ],
)
def test_diffs_are_those_of_the_library(before: str, after: str) -> None:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), "f", "f")
    assert "".join(diff([FileText("f", None, before, after)])) == "".join(lines)


def test_a_diff_says_where_the_last_line_has_no_end() -> None:
    text = "".join(diff([FileText("f", None, "a", "b\n")]))
    assert text.endswith("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n")
