"""Engines that produce a model's turns, behind two small protocols: text, or token ids. They never see a sandbox."""
