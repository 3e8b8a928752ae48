"""Errors that calls of tests end with."""

from collections.abc import Callable
from typing import TypeVar

import pytest

_Error = TypeVar("_Error", bound=BaseException)


def error_of(
    kind: type[_Error], call: Callable[..., object], *arguments: object, **named: object
) -> _Error:
    """The error of a kind with which a call ends; fails where it ends otherwise."""
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    return caught.value
