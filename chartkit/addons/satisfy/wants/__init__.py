"""From each kind of rule to the formula of what it wants."""
