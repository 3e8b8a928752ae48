"""Stand-ins for the compiled packages that have no build for a browser.

The page has them under the packages' names; nothing else imports them. They have what chartkit and
its dependencies use of these packages, and answer as they do.
"""
