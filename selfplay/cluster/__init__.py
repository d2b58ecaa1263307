"""A training run on Ray: its actors, and what talks to them. Ray places, starts and restarts them.

    starting   what each actor needs of a machine, and how often Ray starts one again
    answers    waiting for an actor: a deadline, and what it means when none comes
    joining    join a Ray cluster, or start one on this machine
    seats      who waits for a free place: the lowest step first
    engine     an actor with a model that samples
    engines    all of them: new weights for each, and for each that was restarted; the model as an episode sees it
    host       an actor next to the sandboxes that plays, checks and grades episodes
    hosts      all of them: which one plays what, and what its death means
    trainer    the ranks that train

The state of a run is in its folder, and the process that the user started is the only one that writes it: any other may
die at any moment. A dead host's episodes are played again (`rollout.losses`), a dead engine comes back with the present
weights, a dead trainer goes on from its last checkpoint.
"""
