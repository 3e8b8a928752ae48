"""The keys of older charts and where their values are now, as tables, and the current keys."""
