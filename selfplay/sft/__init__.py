"""Supervised data: lessons from rollouts and from demonstrations."""
