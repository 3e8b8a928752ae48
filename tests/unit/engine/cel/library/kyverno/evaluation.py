"""Expressions of a ValidatingPolicy, evaluated."""

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.values import Value
from chartkit.model import Json

DOCUMENT: Json = {"a": 1, "m": {"x": 1}, "l": [1, "a", {"z": None}], "n": None, "f": 1.5}


def value(expression: str, host: Host = OFFLINE, environment: str = "vpol") -> Value:
    """What an expression comes to where `object` is `DOCUMENT`."""
    program = compile_expression(expression, ENVIRONMENTS[environment])
    return program.evaluate({"object": DOCUMENT}, host)
