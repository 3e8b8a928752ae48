"""Every check of an environment, one summary: `run` gives the rows, `summary` writes them."""
