"""Upstream's own charts in `vendor/charts/`, used in place of the generated ones."""
