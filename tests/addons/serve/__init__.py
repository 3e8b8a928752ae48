"""Tests of the add-on `serve`."""
