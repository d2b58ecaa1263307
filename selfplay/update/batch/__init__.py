"""What an update is taken on. Read in this order:

played     an episode with its tape, as a value; from a trajectory
stored     the played episodes of a run's folder
crediting  played episodes -> credit and filters: what each earned, and why some give no gradient
examples   credited episodes -> sequences with masks, advantages and the engine's log-probabilities
figures    what is reported of an update, as types
summary    a batch in figures; the error for a batch without gradient
"""
