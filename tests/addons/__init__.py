"""Tests of the add-ons."""
