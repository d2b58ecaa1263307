"""What this package is called and which version of it this is."""

VERSION = "0.1.0"
DISTRIBUTION = "selfplay-swe"
"""What `pip install` calls this package: `selfplay` on the package index is another project's."""
