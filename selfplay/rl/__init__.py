"""Learning as pure functions on numbers and tensors. Knows no configuration, no file and no other room of the package.

credit/   plain numbers, without torch: what an episode earns, and when it gives no gradient
loss/     tensors of tokens: one loss per token, and one number of all
"""
