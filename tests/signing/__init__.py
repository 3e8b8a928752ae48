"""A kit that signs images as the field does, with keys that are made for a test."""
