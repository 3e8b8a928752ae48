"""Error messages of clusters, of Helm and of Kyverno, with causes and fixes.

Imports the kernel (documents, errors) and regular expressions alone.
"""
