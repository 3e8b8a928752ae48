"""Preconditions and deny conditions: any/all blocks, the old flat list, and their operators."""
