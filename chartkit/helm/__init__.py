"""Helm behind one gateway: the library in a child process, or the `helm` program.

`backend` picks one of two equal backends, `library` and `program`; `gateway` checks a chart and
gives Helm a copy of it; `render` turns the answer into objects with places. Whatever Helm or a
check refuses is a RenderError. This file imports nothing: `sandbox` starts without site packages.
"""
