"""Changes clusters and projects that are in use: what is there is read first, and can be undone.

`adopt` writes a project for what is in use, `promote` sets policies from Audit to Enforce,
`install` carries an environment into a cluster and out of it.
"""
