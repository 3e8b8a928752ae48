"""Macros, one family a module: what the author writes, and the tree that stands for it."""
