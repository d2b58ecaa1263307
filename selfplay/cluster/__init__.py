"""A training run on Ray: its actors and their clients. Ray places, starts and restarts the actors.

    starting   the resources of each actor, and how often Ray restarts it
    answers    waiting for an actor's answer with a deadline
    joining    join a Ray cluster, or start one on this machine
    seats      queues for free places: the lowest step first
    engine     an actor with a model that samples
    engines    all engines: new weights for each, also after a restart; the model as an episode sees it
    host       an actor next to the sandboxes that plays, checks and grades episodes
    hosts      all hosts: which one plays what, and what happens when one dies
    trainer    the ranks that train

The state of a run is in its folder, and only the process that the user started writes it: any other may die at any
moment. A dead host's episodes are played again (`rollout.losses`), a dead engine restarts with the current weights, a
dead trainer resumes from its last checkpoint.
"""
