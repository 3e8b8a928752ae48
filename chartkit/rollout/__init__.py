"""Changes clusters and projects that are in use: what is there is read first, and can be undone.

`install` carries an environment into a cluster and out of it.
"""
