"""An admission request: the object, the operation, the user, and its phases."""
