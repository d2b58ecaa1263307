"""Credit in plain numbers, without torch.

rewards      an episode's reward, from its outcome
advantages   rewards of a group -> how much better than its group each episode was
rules        the rules of credit: episodes of both roles -> reward, advantage, or why there is no gradient
table        the same rules in words, which `docs/credit.md` shows
role_shares  how much each role weighs in an update of both
filters      named filters that drop rollouts from a batch
estimates    pass@k and intervals over bugs
"""
