"""What joint self-play training is, apart from the machines it runs on: its configuration, its schedule, its ledger,
its plan, its monitors.

config     a YAML file and overrides -> one typed value; unknown keys and impossible combinations are refused
pipeline   which steps are played at once, and learned in order
schedule   which episodes of both roles belong to a step
ledger     what each step plays and what came of it: the state that a killed run goes on from (SQLite)
machine    the machines it runs on, as the configuration names them
plan       memory, hours and what bounds a step, from what `planning` reckons; nothing is started
metrics    a step's figures, read as typed values
monitors   figures -> warnings of a collapse, each of which may stop the run
"""
