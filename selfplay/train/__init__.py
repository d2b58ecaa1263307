"""The trainer: token sequences with numbers -> new weights. It does not know where a batch comes from.

Read in this order (about an hour):
    packing         sequences -> rows of a token budget; plain numbers, without torch
    prefix_sharing  which sequences share a prompt, which their row then holds once; plain numbers
    rows            a row as tensors: positions restart with every sequence
    attention       within a sequence and never across a boundary
    logprobs        log-probability and entropy of given tokens; the logits of a whole batch never exist
    model           a Hugging Face causal model as one module that scores rows; sharded over ranks
    checks          tests whether a loaded model can be trained here
    precision       whether this machine computes in bf16, or only imitates it
    activations     what is kept of a layer for backward, and what is recomputed
    lora            adapters that are trained instead of the weights, and merging them
    memory          returns freed memory to the system
    step            a batch -> one update: accumulation, one normaliser, clipping, AdamW, warm-up, refusal of NaN
    checkpoint      everything a run needs to resume, written atomically, read by any number of ranks
    checkpoint_reader  a checkpoint's files as data: a stranger's pickle runs nothing
    identity        which model a checkpoint belongs to
    weights         exports a model's weights, for engines or as a Hugging Face folder
    sft_loop        supervised fine-tuning: epochs, held-out loss, early stop, resume

A loss is the caller's: a function of a row's log-probabilities, mask and numbers, which returns a sum (`selfplay.rl`).
All modules but `packing`, `prefix_sharing` and `errors` import torch, so nothing outside imports them before a command
needs them.
"""
