"""A dump as files: listing, manifest, addresses, opening them."""
