"""Self-play on real software: one model plants bugs and hides them, the same model fixes them."""

__version__ = "0.1.0"

DISTRIBUTION = "selfplay-swe"
"""What `pip install` calls this package: `selfplay` on the package index is another project's."""
