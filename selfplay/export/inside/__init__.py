"""Programs in an export: they run where the dataset is used, without this package."""

from selfplay.program_texts import texts_in

text = texts_in(__name__)
"""The text of one of these programs."""
