"""Rules for what locks or burdens a cluster."""
