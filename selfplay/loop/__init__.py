"""What joint self-play training is, apart from the machines it runs on: its configuration, its schedule, its ledger,
its plan, its monitors.

config       a YAML file and overrides -> one typed value; refuses unknown keys and impossible combinations
impossible   the combinations of settings that cannot work
config_base  the base class of its parts
yaml_text    YAML as plain values, every fault with its line
play         how it plays, as typed options of the player and the engine
sources      the repositories of a run, each with its weight
kept         which trajectories of finished steps stay
machine      the machines it runs on, as the configuration names them
opponents    a frozen past policy that plays some groups
role_adapters  which runs can train an adapter for each role
pipeline     which steps are played at once; they are learned in order
schedule     which episodes of both roles belong to a step
ledger       each step's episodes and figures: the state from which a killed run resumes (SQLite)
ledger_values  values of it, which a stranger may have written
plan         memory, hours and the bottleneck of a step; nothing is started
planning/    its calculations
metrics      a step's figures, read as typed values
step_record  a finished step as the loop writes it
monitored    what the monitors watch
monitors     figures -> warnings of a collapse, which may stop the run
"""
