"""Policies of one's own: started from a template, checked, and added to a profile."""
