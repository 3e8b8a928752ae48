"""Whole policy libraries taken into `vendor/`, locked, and updated with a report of the changes."""
