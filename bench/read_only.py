"""Reads YAML and does nothing with it: what a scan cannot be faster than."""

from __future__ import annotations

import sys

from chartkit.documents.reader import read_file

if __name__ == "__main__":
    print(len(read_file(sys.argv[1])))  # noqa: T201
