"""Tests of `chartkit promote`."""
