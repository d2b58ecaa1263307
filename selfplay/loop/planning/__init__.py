"""The calculations behind a training run's plan (`loop.plan`): plain numbers, nothing is started or read.

shapes        a model's sizes from its config.json; known for the models of the shipped configurations
assumptions   every constant with its value, unit and source
memory        bytes of a trainer rank and of an engine, by part
throughput    tokens, seconds of each phase, what bounds a step
"""
