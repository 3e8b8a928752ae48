"""Takes files from elsewhere that may be broken or hostile: downloads, archives, checkouts, locks.

Both whole policy libraries and charts are vendored with it; it knows of neither.
"""
