"""One update of the policy from finished episodes of both roles: what an offline update and a training loop share.

Read in this order:
    recipe     every choice of an update, as one typed value that refuses impossible combinations
    played     an episode with its tape, as a value; from a trajectory
    stored     the played episodes of a run's folder
    crediting  played episodes -> credit, filters: what each earned and why some teach nothing
    examples   credited episodes -> sequences with masks, advantages and the engine's log-probabilities
    summary    a batch in figures; the error of one that teaches nothing
    objective  a row of tokens -> the loss of the recipe, and what is measured on the way (torch)
    one_update credited episodes -> one step of a trainer, and its figures (torch)

A loop calls `crediting.credited` and `update.update` with the episodes of its batch; `selfplay learn` calls them with
those of `stored`.
"""
