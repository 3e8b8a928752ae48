"""The common part of Kubernetes' named types: they compare only with their own kind."""

from __future__ import annotations

from collections.abc import Callable

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import Opaque, Value

NO_SUCH_OVERLOAD = "no such overload"


class Refusing(Opaque):
    """A value whose `==` with a value of another type is an error instead of false."""

    __slots__ = ()

    def equals(self, other: Value) -> bool:
        """Report whether both are the same; raises `CelError` for a value of another type."""
        if other.__class__ is not self.__class__:
            raise CelError(NO_SUCH_OVERLOAD)
        return self == other


def accepts(parse: Callable[..., Value]) -> Callable[..., bool]:
    """A function that says whether another, which raises `CelError`, takes its arguments."""

    def is_accepted(*arguments: Value) -> bool:
        try:
            parse(*arguments)
        except CelError:
            return False
        return True

    return is_accepted
