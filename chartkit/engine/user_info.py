"""Who asks, as users write it down: `cli.kyverno.io/v1alpha1`, kind UserInfo."""

from __future__ import annotations

from chartkit.engine.request import User
from chartkit.errors import InputError
from chartkit.model import Json, Location


def read_user_info(body: Json, location: Location) -> User:
    """Reads `roles`, `clusterRoles` and `userInfo` (`username`, `uid`, `groups`, `extra`).

    Raises InputError for what they may not hold.
    """
    if not isinstance(body, dict):
        raise InputError("user info must be a mapping", location)
    info = body.get("userInfo")
    if info is not None and not isinstance(info, dict):
        raise InputError("userInfo must be a mapping", location)
    info = info or {}
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


def _text(value: Json, what: str, location: Location) -> str:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{what} must be a text", location)
    return value or ""


def _texts(value: Json, what: str, location: Location) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise InputError(f"{what} must be a list", location)
    return tuple(_text(item, f"each of {what}", location) for item in value or ())
