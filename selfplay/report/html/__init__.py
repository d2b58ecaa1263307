"""A run as one HTML page: reads the run as plain values, and builds the document that shows them (docs/report.md).

Everything that a repository or a model wrote gets into the page as JSON, and its script shows it as text nodes: it is
never parsed as HTML.
"""
