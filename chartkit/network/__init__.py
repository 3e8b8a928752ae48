"""Everything that talks to other machines, one room a kind of partner.

`http` is under all of them. `downloads`, `registry` and `services` build on it alone; `signatures`
on `registry`, `cluster` on all. It answers the engine's ports.
"""
