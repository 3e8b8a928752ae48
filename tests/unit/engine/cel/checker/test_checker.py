"""Types of expressions, literals that can never be right, and the tables that say so."""

from dataclasses import replace

import pytest

from chartkit.engine.cel import compile_expression, types
from chartkit.engine.cel.checker import OutputTypeError, check, undefined_fields
from chartkit.engine.cel.checker.overloads import Signatures, Tables, tables_of
from chartkit.engine.cel.declarations import Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.interpreter.dispatch import Dispatch, dispatch_for
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.types import INT
from tests.data import from_table
from tests.errors import error_of
from tests.unit.engine.cel.checker.environments import LENIENT, STRICT, complaints, output


@from_table("source", "expected")
def test_checker_types(source: str, expected: str) -> None:
    assert output(source) == expected


@from_table("source", "expected")
def test_checker_complaints(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected


def test_names_and_overloads_of_nodes() -> None:
    parsed = parse("[1].all(net, .net.zone == 'a' && .math.abs(net) > object.b)", STRICT)
    checked = check(parsed, STRICT)
    assert set(checked.names.values()) >= {".net.zone", "net", "math.abs", "object"}
    assert ("equals",) in checked.overloads.values()
    assert ("greater_int64", "greater_int64_double", "greater_int64_uint64") in (
        checked.overloads.values()
    )


def test_only_a_hundred_complaints_are_printed() -> None:
    source = " + ".join(["x"] * 120)
    error = error_of(CelCompileError, check, parse(source, STRICT), STRICT)
    assert len(error.issues) == 101
    assert str(error).endswith("\n20 more errors were truncated")


def test_a_long_line_is_not_repeated_for_each_complaint() -> None:
    def text(padding: int) -> str:
        return str(error_of(CelCompileError, check, parse("x" + " " * padding, STRICT), STRICT))

    complaint = "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')"
    assert text(16_384) == complaint
    assert text(16_383).startswith(f"{complaint}\n | x  ")


def test_types_that_double_at_every_step_end_soon() -> None:
    steps = "".join(f"[{{a{n}: a{n}}}].all(a{n + 1}, " for n in range(40))
    assert complaints(f"[1].all(a0, {steps}true{')' * 41}") == {1: "a type has too many parts"}
    steps = " && ".join(f"(l{n + 1} + [{{l{n}: l{n}}}]).size() > 0" for n in reversed(range(30)))
    nested = steps
    for n in range(31):
        nested = f"[[]].all(l{n}, {nested})"
    assert complaints(nested) == {1: "a type has too many parts"}


def test_deep_macros_end_in_a_complaint() -> None:
    source = "[1].map(x, " * 160 + "1" + ")" * 160
    error = error_of(CelCompileError, check, parse(source, STRICT), STRICT)
    assert str(error) == "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"


def test_expected_output() -> None:
    def checked(source: str, *expected: types.Type) -> types.Type:
        return check(parse(source, STRICT), STRICT, expected=expected).output_type

    assert checked("1 < 2", types.BOOL) == types.BOOL
    assert checked("pod.weight", types.STRING, types.INT) == types.wrapper_of(types.INT)
    assert checked("object", types.ANY) == types.DYN
    with pytest.raises(OutputTypeError, match=r"^must evaluate to bool but got dyn$"):
        checked("object.a", types.BOOL)
    error = error_of(OutputTypeError, checked, "[1]", types.STRING, types.NULL)
    assert str(error) == "must evaluate to one of [string null_type] but got list(int)"
    assert error.actual == types.list_of(types.INT)


def test_misspelt_fields_are_found_beside_other_faults() -> None:
    parsed = parse("pod.lables.app == 'a' && pod.owner.qqq + 1 + 'a'", STRICT)
    found = undefined_fields(parsed, STRICT)
    assert [(each.struct, each.field, each.suggestion) for each in found] == [
        ("Pod", "lables", "labels"),
        ("Pod", "qqq", None),
    ]


def test_what_one_check_finds_out_does_not_leak_into_the_next() -> None:
    for _ in range(2):
        assert output("[[]].flatten()") == "list(dyn)"
        assert output("[[1]].flatten()") == "list(int)"
        assert complaints("[1].flatten().a") == {14: "type 'int' does not support field selection"}


def test_mixed_literals_are_dyn_where_they_are_allowed() -> None:
    assert output("[1, 'a']", LENIENT) == "list(dyn)"
    assert output("{'a': 1, 2: 'b'}", LENIENT) == "map(dyn, dyn)"
    assert output("[1, null]", LENIENT) == "list(dyn)"
    assert output("[pod, null]", LENIENT) == "list(null_type)"


STANDARD = ENVIRONMENTS["standard"]


def test_environments_with_the_same_functions_share_their_tables() -> None:
    extended = STANDARD.extend({"n": Variable(INT)})
    assert tables_of(extended).functions is tables_of(STANDARD).functions
    assert tables_of(extended) is not tables_of(STANDARD)
    assert tables_of(extended).global_type("n") is INT
    ids = ("add_int64",)
    assert dispatch_for(extended, "_+_", ids) is dispatch_for(STANDARD, "_+_", ids)


def test_tables_are_kept_by_their_environment_alone() -> None:
    environment = replace(STANDARD, name="apart", of_functions={})
    assert compile_expression("1 + 2 + 3", environment).evaluate({}) == 6
    assert environment.of_environment[Tables] is tables_of(environment)
    dispatch = dispatch_for(environment, "_+_", ("add_int64",))
    assert dispatch is not dispatch_for(STANDARD, "_+_", ("add_int64",))
    assert list(environment.of_functions) == [Signatures, (Dispatch, "_+_")]
    assert tables_of(environment).functions is not tables_of(STANDARD).functions


_BREAKS = "an optional member of type dyn, at which cel-go breaks off"


@from_table("source", "expected")
def test_validators_arguments(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected
    assert complaints(source, LENIENT) == {}


@from_table("source", "expected")
def test_mixed_literals(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected
    assert complaints(source, LENIENT) == {}


_READING = "could not parse formatting clause: "
_PRECISION = f"{_READING}error while parsing precision: "
_ATOI = f"{_PRECISION}error while converting precision to integer: strconv.Atoi: parsing"
_STRING = (
    "error during formatting: string clause can only be used on strings, bools, bytes, ints, "
    "doubles, maps, lists, types, durations, and timestamps, was given"
)


@from_table("source", "expected")
def test_format_strings(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected
    assert complaints(source, LENIENT) == expected


def test_inner_complaints_come_first_where_both_have_one_place() -> None:
    source = "'%d%d'.format([1, ('%s %d'.format(['a']))])"
    error = error_of(CelCompileError, check, parse(source, STRICT), STRICT)
    messages = [issue.message for issue in error.issues]
    assert messages == [
        "index 1 out of range",
        "error during formatting: decimal clause can only be used on integers, was given string",
    ]
