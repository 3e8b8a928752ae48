"""Documentation of policies: a page of Markdown for each, and an index."""
