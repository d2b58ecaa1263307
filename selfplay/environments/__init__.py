"""The two roles as environments for other trainers: an episode is a session that takes the model's messages one by one
and returns the observations. It is graded or checked at its end like any episode.

`external_policy.py` and `session.py` turn an episode inside out: its policy waits for a message from outside.
`sessions.py` holds the sessions of a run, `server.py` serves them on this machine, a trainer's process needs only
`client.py`. `for_trl.py`, `for_verifiers.py` and `for_skyrl.py` connect one trainer each, and import it.
`docs/environments.md` shows how to use them.
"""
