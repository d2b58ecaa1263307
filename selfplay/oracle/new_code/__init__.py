"""The code that a prediction adds or lacks, judged last: a reason to doubt it, or to show it to a person."""
