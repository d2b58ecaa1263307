"""The step itself, which needs torch.

objective   a row of tokens -> the loss of the recipe, and its measurements
one_update  credited episodes -> one step of a trainer, and its figures
policies    one policy for both roles, or one for each
"""
