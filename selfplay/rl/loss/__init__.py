"""Losses of tokens.

masking      values outside the mask never matter; which token belongs to which sequence
ratios       new policy over old policy, by token and by sequence
corrections  the trainer's probabilities against the engine's: truncated importance sampling, IcePop
losses       one loss per token: PPO, CISPO, GSPO, cross entropy
normalise    losses of tokens -> one number, however the batch was split

A tensor of tokens has any shape: packed `[tokens]` or padded `[sequences, length]`. Masks are boolean, True where a
token was sampled by the policy and is trained on. Log-probabilities are natural logarithms, float32 or finer.
"""
