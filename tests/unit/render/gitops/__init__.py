"""Tests of the files for deployers."""
