"""The solver's world, the grade of what a solver hands in, and the proof that neither can be cheated cheaply.

Knows bugs, diffs and sandboxes; nothing of roles, models or rewards.
"""
