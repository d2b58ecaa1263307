"""The name and the version of this package."""

VERSION = "0.1.0"
DISTRIBUTION = "selfplay-swe"
"""The name for `pip install`: `selfplay` on the package index is another project."""
