"""YAML and JSON: read with places, written, compared. Every reading of a file goes through here.

It imports `model`, `errors` and `safe_text`.
"""
