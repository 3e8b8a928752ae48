"""Why policies say what they say of an object: asked, and shown as text, JSON and findings."""
