"""The one door to Helm: the library in a child process, or the `helm` program.

Charts are read without rights: `backend` picks one of two equal backends, `library` and `program`;
`gateway` checks a chart and gives Helm a copy of it; `render` turns the answer into objects with
places. Whatever Helm or a check refuses is a RenderError. Releases and registries need the rights
of the user: the `HelmClient` of `backend` asks for them. This file imports nothing: `sandbox` and
`library` start without site packages.
"""
