"""The names of a dataset's formats and statements; it imports no other module, so that the command line starts
quickly."""

from typing import Literal, get_args

Form = Literal["swebench", "swesmith", "r2e", "harbor", "hf"]
FORMS: tuple[Form, ...] = get_args(Form)
GradedForm = Literal["swebench", "swesmith", "r2e"]
"""The formats whose tool grades the log of an evaluation in `/testbed`."""
GRADED_FORMS: tuple[GradedForm, ...] = get_args(GradedForm)
Statement = Literal["ssr", "plain"]
"""What the agent is told: the tests as a diff, or the failures in words."""
STATEMENTS: tuple[Statement, ...] = get_args(Statement)
