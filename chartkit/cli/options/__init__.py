"""Options that several commands share, parsed into types."""
