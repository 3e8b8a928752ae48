"""The files of Kyverno's command line: values, user information, contexts, recorded objects."""

from chartkit.engine.cli_files.user_files import (
    NO_CONTEXT,
    UserContext,
    UserValues,
    read_context,
    read_settings,
    read_user_info,
    read_values,
)
from chartkit.engine.cli_files.world import (
    NO_VALUES,
    Admissions,
    ObjectApi,
    UserApi,
    UserGlobalContext,
    UserImages,
    UserMocks,
    partial_api,
)

__all__ = [
    "NO_CONTEXT",
    "NO_VALUES",
    "Admissions",
    "ObjectApi",
    "UserApi",
    "UserContext",
    "UserGlobalContext",
    "UserImages",
    "UserMocks",
    "UserValues",
    "partial_api",
    "read_context",
    "read_settings",
    "read_user_info",
    "read_values",
]
