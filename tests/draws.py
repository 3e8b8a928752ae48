"""How many examples the properties draw: few in each run, many with HYPOTHESIS_PROFILE=thorough."""

import os

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
QUICK_DRAWS = 25


def draws(thorough: int) -> settings:
    """Settings that draw so many examples in a thorough run."""
    return settings(max_examples=thorough if THOROUGH else min(thorough, QUICK_DRAWS))
