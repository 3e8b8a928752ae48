"""The smallest object that an environment accepts, found and shown."""
