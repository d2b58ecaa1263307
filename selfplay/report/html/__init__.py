"""A run as one page of HTML: what is read of it, as plain values, and the document that shows them (docs/report.md).

Everything a repository or a model wrote reaches the page as JSON, and the page's script as text of nodes: nothing of it
is ever parsed as HTML.
"""
