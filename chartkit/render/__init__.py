"""`chartkit render`: from a project to its charts, checked before they are written.

`pipeline` runs the stages, `checks/` holds one module a check. It imports everything below it but
`catalog`.
"""
