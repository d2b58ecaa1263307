"""What joint self-play training is, apart from the machines it runs on: its configuration, its schedule, its ledger.

    config     a YAML file and overrides -> one typed value; unknown keys and impossible combinations are refused
    schedule   which episodes of both roles belong to a step
    ledger     what each step plays and what came of it: the state that a killed run goes on from (SQLite)

`commands.train` plays a step's episodes with the policy's present weights, updates it once, and gives the engine the
new weights. It is synchronous: no rollout is ever stale. The paper's asynchronous loop over a cluster is not built yet.
"""
