"""A small shop: prices, labels, codes, a report, a logo and plugins."""
