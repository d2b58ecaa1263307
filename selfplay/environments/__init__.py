"""The two roles as environments that others' trainers drive: one episode is a session, which takes the model's messages
one by one and gives the observations; its end is graded or checked as every episode's.

`external_policy.py` and `session.py` turn an episode inside out: its policy waits for a message from outside.
`sessions.py` holds the sessions of a run, `server.py` serves them on this machine, `client.py` is all that a trainer's
process needs. `for_trl.py`, `for_verifiers.py` and `for_skyrl.py` connect one trainer each, and import it.
`docs/environments.md` shows how a lab plugs them in.
"""
