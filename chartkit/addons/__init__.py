"""Add-ons: commands that not every user runs. The core imports none, and works without them."""
