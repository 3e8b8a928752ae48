"""Texts with a grammar of their own in policies: wildcards, schedules, image references, ranges."""
