"""The trainer: from sequences of tokens with numbers to new weights. It does not know who made a batch, or why.

Read in this order; together they are an hour:
    packing     sequences -> rows of a token budget; plain numbers, without torch
    rows        a row as tensors: positions begin anew with every sequence
    attention   within a sequence and never across a boundary
    logprobs    log-probability and entropy of given tokens; the logits of a whole batch never exist
    model       a Hugging Face causal model as one module that scores rows; sharded where there is more than one rank
    checks      what a model must do to be trained here, tried when it is loaded
    activations what is kept of a layer for backward, and what is computed again
    lora        adapters that train in place of the weights, and their sum with them
    memory      freed memory goes back to the system
    step        a batch -> one update: accumulation, one normaliser, clipping, AdamW, warm-up, refusal of NaN
    checkpoint  everything a run needs to go on, written atomically, read by any number of ranks
    identity    which model a checkpoint is of
    tuning      supervised fine-tuning: epochs, held-out loss, early stop, resume

A loss is the caller's: a function of a row's log-probabilities, mask and numbers, which returns a sum (`selfplay.rl`).
All modules but `packing` and `errors` import torch, so nothing outside imports them before a command needs them.
"""
