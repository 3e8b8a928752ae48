"""Two renders compared: which objects were added, removed or changed, and what that risks."""
