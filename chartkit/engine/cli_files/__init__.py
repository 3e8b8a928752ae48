"""The files of Kyverno's command line: values, user information, contexts, recorded objects."""

from chartkit.engine.cli_files.fields import (
    API_CALLS,
    CLUSTER_RESOURCES,
    GLOBAL_ENTRIES,
    METADATA,
    decoded,
)
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
    "API_CALLS",
    "CLUSTER_RESOURCES",
    "GLOBAL_ENTRIES",
    "METADATA",
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
    "decoded",
    "partial_api",
    "read_context",
    "read_settings",
    "read_user_info",
    "read_values",
]
