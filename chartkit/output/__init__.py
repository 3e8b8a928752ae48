"""Generated files on disk: merged with edits by hand, compared, and replaced in one step.

It knows no charts and no policies; it imports `schemas`, `documents` and below.
"""
