"""A generated chart before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GeneratedChart:
    """A chart as it is to be written.

    name: the chart's name and folder; files: text by path inside the chart, owned by chartkit and
    written as they are; values: text by file name (`values.yaml`, `values_dev.yaml` …), where hand
    edits are kept by a three-way merge.
    """

    name: str
    files: Mapping[str, str]
    values: Mapping[str, str]
