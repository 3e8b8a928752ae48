"""The commands that change clusters and projects in use."""
