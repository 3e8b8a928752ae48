"""chartkit: generate, check and prove Helm charts for Kyverno and its policies."""

__version__ = "0.9.0"
SITE = "https://chartkit.example.com/"
"""The address of the documentation's site, which serves the schemas (`tools/site.py`)."""
