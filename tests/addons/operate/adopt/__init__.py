"""Tests of `chartkit adopt`."""
