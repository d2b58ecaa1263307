"""What the injector runs inside the sandbox, on the repository's own interpreter. Read as text, never imported."""

from selfplay.program_texts import texts_in

text = texts_in(__name__)
"""The text of one of these programs."""
