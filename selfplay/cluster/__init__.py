"""A training run on Ray: its actors and their clients. Ray places, starts and restarts the actors.

    ray_session  joins a Ray cluster, or starts one on this machine
    actors       starts the actors: the resources of each, and how often Ray restarts it
    actor_calls  waiting for an actor's answer with a deadline
    seats        queues for free places: the lowest step first
    engine       an actor with a model that samples
    engines      all engines: new weights for each, also after a restart; the model as an episode sees it
    host         an actor next to the sandboxes that plays, checks and grades episodes
    hosts        all hosts: which one plays what, and what happens when one dies
    trainer      the ranks that train
    weights      how new weights get from the trainer to the engines: a shared folder, or the network

The state of a run is in its folder, and only the process that the user started writes it: any other may die at any
moment. A dead host's episodes are played again (`rollout.retries`), a dead engine restarts with the current weights, a
dead trainer resumes from its last checkpoint.
"""
