"""Files into exchanges."""
