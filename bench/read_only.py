"""Reads YAML and does nothing with it: what a scan cannot be faster than. With `--libyaml`, by
libyaml alone."""

from __future__ import annotations

import sys

from chartkit.documents.reader import read_file, read_source
from chartkit.documents.yaml_builder import build_documents

if __name__ == "__main__":
    file, *options = sys.argv[1:]
    if options == ["--libyaml"]:
        print(len(list(build_documents(read_source(file), file))))  # noqa: T201
    else:
        print(len(read_file(file)))  # noqa: T201
