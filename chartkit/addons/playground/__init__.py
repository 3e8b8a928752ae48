"""The engine in a page: static files that run in the browser, and nothing leaves it."""
