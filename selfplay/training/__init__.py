"""What joint self-play training is, apart from the machines it runs on: its configuration, its schedule, its ledger.

config     a YAML file and overrides -> one typed value; unknown keys and impossible combinations are refused
pipeline   which steps are played at once, and learned in order
schedule   which episodes of both roles belong to a step
ledger     what each step plays and what came of it: the state that a killed run goes on from (SQLite)
"""
