"""Tests of the add-on `satisfy`."""
