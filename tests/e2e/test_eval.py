"""`chartkit eval` from the outside."""

import json
import subprocess
from pathlib import Path

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.functions import FUNCTIONS
from tests.data import beside, from_table, tables
from tests.e2e.command import PROGRAM, Done, chartkit
from tests.e2e.transcript import check_page

POD = tables(__file__)["pod"]
"""What examples speak of that need an object."""


def test_an_expression_on_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text("metadata: {labels: {a: x}}\n", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", "to_upper(metadata.labels.a)", "-i", "in.yaml")
    assert (done.code, done.out, done.err) == (0, '"X"\n', "")


def test_an_expression_without_input(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "eval", "jmespath", "add('1Gi', '512Mi')")
    assert (done.code, json.loads(done.out)) == (0, "1536Mi")


@from_table("expression", "printed")
def test_result_is_printed_as_go_prints_json(tmp_path: Path, expression: str, printed: str) -> None:
    (tmp_path / "in.json").write_text("{}", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", expression, "-i", "in.json")
    assert (done.code, done.out, done.err) == (0, f"{printed}\n", "")


def test_eval_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "eval", "jmespath", "length(@)", "-i", "-"],
        input="[1, 2, 3]",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout == "3\n"


def test_what_cannot_be_evaluated(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "eval", "jmespath", "foo(")
    assert (done.code, done.out) == (1, "")
    assert done.line.startswith("SyntaxError")
    done = chartkit(tmp_path, "eval", "jmespath", "to_number(`[]`)", "-i", "gone.yaml")
    assert (done.code, done.line) == (2, "gone.yaml: no such file")
    done = chartkit(tmp_path, "eval", "jmespath")
    assert done.code == 2


def test_input_must_be_one_value(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("1\n---\n2\n", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", "@", "-i", "two.yaml")
    assert done.code == 2
    assert "holds several documents" in done.line
    (tmp_path / "none.yaml").write_text("", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", "@", "-i", "none.yaml")
    assert (done.code, done.line) == (2, "none.yaml: is empty")


def test_every_function_is_listed_with_an_example_that_runs(tmp_path: Path) -> None:
    lines = chartkit(tmp_path, "eval", "jmespath", "--list").out.splitlines()
    assert lines[::3] == [one.signature for one in FUNCTIONS.values()]
    for example in lines[2::3]:
        if "tls.crt" in example:
            continue
        try:
            compile_expression(example.strip()).search(POD)
        except JMESPathError as error:
            raise AssertionError(f"{example}: {error}") from error


DEPLOYMENT = beside(__file__)["deployment"]


def _cel(folder: Path, *arguments: str) -> Done:
    (folder / "web.yaml").write_text(DEPLOYMENT, "utf-8")
    return chartkit(folder, "eval", "cel", *arguments)


def test_a_cel_expression_on_an_object(tmp_path: Path) -> None:
    done = _cel(tmp_path, "object.spec.replicas > 2", "-i", "web.yaml")
    assert (done.code, done.out, done.err) == (0, "true\n", "")


def test_cel_has_the_functions_of_the_environment(tmp_path: Path) -> None:
    text = "object.spec.template.spec.containers.map(c, image(c.image).registry())"
    done = _cel(tmp_path, text, "-i", "web.yaml", "--env", "vpol")
    assert (done.code, json.loads(done.out)) == (0, ["ghcr.io"])


def test_a_cel_expression_that_does_not_compile(tmp_path: Path) -> None:
    done = _cel(tmp_path, "1 < 2 && isImage('web')")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "ERROR: <input>:1:17: undeclared reference to 'isImage' (in container '')\n"
        " | 1 < 2 && isImage('web')\n"
        " | ................^\n"
    )


def test_cel_is_formatted(tmp_path: Path) -> None:
    source = 'has(object.spec)&&( object.spec.containers.all(c,!(c.image=="x")) ) // why'
    formatted = "has(object.spec) &&\n// why\nobject.spec.containers.all(c, !(c.image == 'x'))\n"
    done = _cel(tmp_path, "--format", source)
    assert (done.code, done.out, done.err) == (0, formatted, "")
    (tmp_path / "a.cel").write_text(source, "utf-8")
    assert _cel(tmp_path, "--format", "@a.cel").out == formatted
    piped = subprocess.run(
        [PROGRAM, "eval", "cel", "--format", "-"],
        input=source,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert piped.stdout == formatted


def test_the_cel_page_shows_what_is_printed(tmp_path: Path, update: bool) -> None:
    check_page("reference/cel.md", tmp_path, update)


def test_a_cel_file_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "a.cel").write_text("// more than one\nobject.spec.replicas > 1\n", "utf-8")
    assert _cel(tmp_path, "@a.cel", "-i", "web.yaml").out == "true\n"
    assert _cel(tmp_path, "@gone.cel").code == 2
    assert _cel(tmp_path, "-", "-i", "-").code == 2


def test_what_is_no_cel_is_not_formatted(tmp_path: Path) -> None:
    done = _cel(tmp_path, "--format", "a &&")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("ERROR: <input>:1:5: Syntax error: ")
    (tmp_path / "a.cel").write_text("a &&\n  (b\n", "utf-8")
    done = _cel(tmp_path, "--format", "@a.cel")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("ERROR: a.cel:3:1: Syntax error: ")
    assert _cel(tmp_path, "--format", "a", "-i", "web.yaml").code == 2
    deep = "a && (b || " * 400 + "c" + ")" * 400
    done = _cel(tmp_path, "--format", deep)
    assert (done.code, done.out) == (2, "")
    assert "recursion limit exceeded" in done.err
    assert _cel(tmp_path, "--explain", deep).code == 1


def test_cel_values_that_json_has_not(tmp_path: Path) -> None:
    done = _cel(
        tmp_path, "[dyn(1u), dyn(duration('90s')), dyn(2.0), dyn(b'a'), dyn(optional.none())]"
    )
    assert done.out == '[\n  1u,\n  duration("90s"),\n  2.0,\n  b"a",\n  optional.none()\n]\n'


def test_variables_of_a_cel_expression(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("spec: {replicas: 5}\n", "utf-8")
    text = "object.spec.replicas + limit < oldObject.spec.replicas + variables.more"
    given = ["--var", "oldObject=@old.yaml", "--var", "limit=1", "--var", "variables={more: 2}"]
    for name in ("k8s", "vpol"):
        done = _cel(tmp_path, text, "-i", "web.yaml", "--env", name, *given)
        assert (done.code, done.out) == (0, "true\n")


def test_the_variables_of_the_standard_environment_are_the_inputs_keys(tmp_path: Path) -> None:
    done = _cel(tmp_path, "kind + '/' + metadata.name", "-i", "web.yaml", "--env", "standard")
    assert (done.code, done.out) == (0, '"Deployment/web"\n')
    (tmp_path / "list.yaml").write_text("[1]\n", "utf-8")
    done = _cel(tmp_path, "1", "-i", "list.yaml", "--env", "standard")
    assert (done.code, done.line) == (
        2,
        "list.yaml: must be a mapping (its keys are the variables of the environment standard)",
    )


def test_a_cel_expression_without_a_value(tmp_path: Path) -> None:
    done = _cel(tmp_path, "object.spec.paused", "-i", "web.yaml")
    assert (done.code, done.out, done.err) == (1, "", "no such key: paused\n")
    done = _cel(tmp_path, "object.spec.replicas / 0", "-i", "web.yaml")
    assert (done.code, done.line) == (1, "division by zero")


def test_a_field_that_the_objects_kind_has_not(tmp_path: Path) -> None:
    done = _cel(tmp_path, "has(object.spec.replica)", "-i", "web.yaml")
    assert (done.code, done.out) == (0, "false\n")
    assert done.line == (
        "warning cel-types: apps/v1, Kind=Deployment: undefined field 'replica' "
        "(did you mean 'replicas'?)"
    )


def test_what_cel_is_given_wrongly(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("1\n---\n2\n", "utf-8")
    done = _cel(tmp_path, "object", "-i", "two.yaml")
    assert done.code == 2
    assert "holds several documents" in done.line
    assert (_cel(tmp_path).code, _cel(tmp_path, "1", "--env", "cel").code) == (2, 2)
    done = _cel(tmp_path, "1", "--var", "x")
    assert (done.code, done.line) == (2, "--var takes NAME=VALUE, not 'x'")


def test_the_parts_of_a_cel_expression(tmp_path: Path) -> None:
    text = "object.spec.replicas > 2 && size(object.metadata.name) == 4"
    done = _cel(tmp_path, text, "-i", "web.yaml", "--explain")
    assert (done.code, done.err) == (0, "")
    parts = {line.rsplit("  ", 1)[0].rstrip(): line for line in done.out.splitlines()}
    assert parts[text].endswith("  false")
    assert parts["  object.spec.replicas > 2"].endswith("  true")
    assert parts["    size(object.metadata.name)"].endswith("  3")
    assert parts["      object.metadata.name"].endswith('  "web"')
    assert done.out.endswith("\nfalse\n")
    assert _cel(tmp_path, "1 + 1", "--explain").out.endswith("2\n")


def test_the_parts_of_a_cel_expression_without_a_value(tmp_path: Path) -> None:
    done = _cel(tmp_path, "object.spec.paused == true", "-i", "web.yaml", "--explain")
    assert (done.code, done.line) == (1, "no such key: paused")
    assert "object.spec.paused" in done.out
    assert "  error: no such key: paused" in done.out


def test_every_cel_function_is_listed(tmp_path: Path) -> None:
    listed = _cel(tmp_path, "--list").out.splitlines()
    assert "isQuantity(string) -> bool" in listed
    assert "math.abs(int) -> int" not in listed
    assert "math.abs(int) -> int" in _cel(tmp_path, "--list", "--env", "vpol").out.splitlines()
