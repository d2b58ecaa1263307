"""The solver's world, the grade of a prediction, and the defences that make both expensive to cheat.

Knows bugs, diffs and sandboxes; does not know roles, models or rewards.
"""
