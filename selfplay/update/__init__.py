"""One update of the policy from finished episodes of both roles: what an offline update and a training loop share.

recipe   every choice of an update, as one typed value that refuses impossible combinations
batch/   finished episodes -> credited ones -> sequences to train on, and their figures; without torch
step/    credited episodes -> one step of a trainer (torch)

A loop calls `batch.crediting.credited` and `step.one_update.update` with the episodes of its batch; `selfplay learn`
calls them with those of `batch.stored`.
"""
