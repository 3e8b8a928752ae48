"""The evaluation of policies on objects: reads both, runs the engine, passes the results to the
reports."""

from typing import Final

DEFAULT_PROFILE: Final = "pss-restricted"
DEFAULT_NAMESPACE: Final = "default"
