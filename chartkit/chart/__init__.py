"""From profiles and policy libraries to charts, and from charts to manifests."""
