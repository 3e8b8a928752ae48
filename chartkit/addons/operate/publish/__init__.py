"""Publishes the generated charts: packed, signed, and pushed to a registry by Helm."""
