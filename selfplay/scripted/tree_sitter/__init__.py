"""Edits of JavaScript, TypeScript and Go by their trees: what the scripted injector does in languages without a survey
of lines.

Python has its own modules beside the injector. A new language needs a grammar (`selfplay/syntax/grammar.py`), what its
nodes bind, and its rows in the tables here.
"""
