"""What not every user runs; the core imports none of it, and works without it."""
