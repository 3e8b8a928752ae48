"""`chartkit adopt`: a project for what is in use already.

`files` and `run` read files, charts, recordings and clusters into estates, one an environment;
`policies`, `chart_values`, `engine` and `meaning` decide what of it a project can have;
`project_files` writes that down; `trial` renders the project once, so that nothing changes without
a row. Imports `render` and below.
"""
