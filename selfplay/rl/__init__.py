"""Learning as pure functions on numbers and tensors. Knows no configuration, no file and no other room of the package.

Plain numbers, without torch:
    rewards      an episode's reward, from its outcome
    advantages   rewards of a group -> how much better than its group each episode was
    credit       the rules of credit: episodes of both roles -> reward, advantage, or why there is no gradient
    credit_table the same rules in words, which `docs/credit.md` shows
    filters      named filters that drop rollouts from a batch
    estimates    pass@k and intervals over bugs

Tensors:
    masking      values outside the mask never matter; which token belongs to which sequence
    ratios       new policy over old policy, by token and by sequence
    corrections  the trainer's probabilities against the engine's: truncated importance sampling, IcePop
    losses       one loss per token: PPO, CISPO, GSPO, cross entropy
    normalise    losses of tokens -> one number, however the batch was split

A tensor of tokens has any shape: packed `[tokens]` or padded `[sequences, length]`. Masks are boolean, True where a
token was sampled by the policy and is trained on. Log-probabilities are natural logarithms, float32 or finer.
"""
