"""Checks of values and rendered charts: one rule, one function, one id."""
