"""The tables that the checker and the interpreter make of an environment."""

from dataclasses import replace

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.checker.overloads import Signatures, Tables, tables_of
from chartkit.engine.cel.declarations import Variable
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.interpreter.dispatch import Dispatch, dispatch_for
from chartkit.engine.cel.types import INT

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
