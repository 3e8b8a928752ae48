"""`proto.hasExt` and `proto.getExt`: extension fields of protobuf messages."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.macros.proto import MACROS

LIBRARY: Final = Library(
    "cel.lib.ext.protos", macros=MACROS, doc="Extension fields of protobuf messages."
)
