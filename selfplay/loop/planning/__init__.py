"""What a plan of a training run is reckoned from (`training.plan`); plain numbers, nothing is started or read.

shapes        a model's sizes, from its config.json as values; those of the models that shipped configurations name
assumptions   every constant: its value, its unit, and where it comes from
memory        bytes of a trainer rank and of an engine, by part
pace          tokens, seconds of each phase, what bounds a step
"""
