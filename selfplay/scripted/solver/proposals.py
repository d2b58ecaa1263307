"""All repairs that all methods propose, for the most suspicious functions."""

from selfplay.scripted.solver.calls import call_repairs, name_repairs, parameter_repairs, signatures
from selfplay.scripted.solver.evidence import Evidence
from selfplay.scripted.solver.expressions import expression_repairs
from selfplay.scripted.solver.guards import guard_repairs
from selfplay.scripted.solver.ingredients import Ingredients, insertion_repairs
from selfplay.scripted.solver.repair import Repair
from selfplay.scripted.solver.transplants import method_repairs, transplant_repairs

PLACES = 25
WITH_INGREDIENTS = 10
"""Number of the most suspicious functions for which code is searched in the rest of the repository."""


def proposed(evidence: Evidence) -> list[Repair]:
    """The repairs to choose from, in no particular order."""
    ingredients, known = Ingredients(evidence), signatures(evidence)
    found: list[Repair] = [*name_repairs(evidence), *parameter_repairs(evidence), *method_repairs(evidence)]
    for rank, place in enumerate(evidence.places[:PLACES]):
        found += expression_repairs(evidence, place)
        found += guard_repairs(evidence, place)
        found += call_repairs(evidence, place, known)
        found += transplant_repairs(evidence, place)
        if rank < WITH_INGREDIENTS:
            found += insertion_repairs(ingredients, place)
    return found
