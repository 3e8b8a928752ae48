"""The user of a request, as users write it: `cli.kyverno.io/v1alpha1`, kind UserInfo."""

from __future__ import annotations

from typing import Final

from chartkit.engine.request.request import User
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location

_KEYS: Final = (
    "apiVersion",
    "kind",
    "metadata",
    "roles",
    "clusterRoles",
    "userInfo",
    "synchronize",
)
_INFO_KEYS: Final = ("username", "uid", "groups", "extra")


def read_user_info(body: Json, location: Location) -> User:
    """Reads `roles`, `clusterRoles` and `userInfo` (`username`, `uid`, `groups`, `extra`).

    Raises InputError for what they may not hold, and for other keys, which Kyverno refuses too.
    """
    if not isinstance(body, dict):
        raise InputError("user info must be a mapping", location)
    if body.get("kind", "UserInfo") != "UserInfo":
        hint = "write kind: UserInfo of cli.kyverno.io/v1alpha1"
        raise InputError(f"holds no user info but a {body['kind']}", location, hint)
    _require_known(body, _KEYS, "user info", location)
    info = body.get("userInfo")
    if info is not None and not isinstance(info, dict):
        raise InputError("userInfo must be a mapping", location)
    info = info or {}
    _require_known(info, _INFO_KEYS, "userInfo", location)
    extra = info.get("extra") or {}
    if not isinstance(extra, dict):
        raise InputError("userInfo.extra must be a mapping", location)
    return User(
        _text(info.get("username"), "userInfo.username", location),
        _text(info.get("uid"), "userInfo.uid", location),
        _texts(info.get("groups"), "userInfo.groups", location),
        extra,
        _texts(body.get("roles"), "roles", location),
        _texts(body.get("clusterRoles"), "clusterRoles", location),
    )


def _require_known(body: Body, known: tuple[str, ...], what: str, location: Location) -> None:
    for key in body:
        if key not in known:
            hint = "known are " + ", ".join(known)
            raise InputError(f"{what} has no '{key}'", location, hint)


def _text(value: Json, what: str, location: Location) -> str:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{what} must be a text", location)
    return value or ""


def _texts(value: Json, what: str, location: Location) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise InputError(f"{what} must be a list", location)
    return tuple(_text(item, f"each of {what}", location) for item in value or ())
