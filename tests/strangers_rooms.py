"""Every folder of the package with code: the readers of strangers' text in it that `test_linear_time` measures, or why
it has none there. A new folder belongs in one of the two tables.

A stranger is a model, a repository, a row of a dataset, or what a command printed.
"""

MEASURED: dict[str, tuple[str, ...]] = {
    "artifact": ("artifact.parse_test_files",),
    "believable": ("believable.faults, ",),
    "commands": ("commands.source_list",),
    "export": ("export.repository_name",),
    "importers": ("importers.task_of", "importers.summary", "importers.decided"),
    "oracle/new_code": ("oracle.new_powers",),
    "oracle/rewriting": ("oracle.renamed", "oracle.with_name"),
    "patches": ("patches.",),
    "report/html": ("report.diff_value", "report.clean_text", "report.runs"),
    "repository/building": ("repository.choose interpreter", "repository.missing_modules"),
    "repository/detection": ("repository.detect, ",),
    "repository/fetching": ("repository.parse_source", "repository.a submodule's config"),
    "repository/network": ("repository.proxy_request",),
    "repository/suites": ("repository.parse_records", "repository.unloadable"),
    "scripted/injector": ("scripted.lines of a log",),
    "scripted/solver": ("scripted.repairs",),
    "scripted/tree_sitter": ("syntax and tree_sitter, ",),
    "syntax": ("syntax and tree_sitter, ",),
    "validators": ("validators.find_hint, ", "validators.few"),
    "": ("plain.",),
}
"""Folder -> beginnings of names of `READERS`; each stands for at least one."""

OTHERWISE = {
    "agent": "calls of a model: the bounds of tests/agent; its patterns: test_package_patterns",
    "oracle/behaviour": "answers of programs inside: tests/oracle/test_growth.py",
    "oracle/leak_audit": "tests/oracle/test_growth_search.py",
    "oracle/screening": "tests/oracle/test_growth_screening.py",
    "oracle": "what calibrations and grades hold; the text is read in the rooms of oracle",
    "sft": "text of trajectories, by the readers of agent and patches",
    "workbench": "outcomes that a parser printed: tests/oracle/test_growth.py",
    "curriculum": "rows and files of a pool, by the readers of artifact",
    "environments": "a model's messages, by the readers of agent",
    "rollout": "passes text to agent, artifact and validators",
    "scripted": "both roles' names; what they read is in its rooms",
    "scripted/edits": "Python by syntax_tree, of functions within MOST_LINES and MOST_CHARACTERS",
    "repository": "passes text to its rooms",
    "repository/files": "streams of a sandbox, read within one budget: tests/repository",
    "repository/suites/runners": "logs of runners by patterns: test_package_patterns",
    "report": "shows values that plain_text has cleaned",
    "sandbox": "bytes of a sandbox within its limits: tests/sandbox",
    "sandbox/docker": "answers of the engine on this machine",
    "policies": "answers of a server that the user named, within limits",
}
"""Folder -> where its readers of strangers' text are bounded instead."""

INSIDE = "runs in a sandbox, within its limits"
OURS = "reads what selfplay or its user wrote"
NOTHING = "reads no text"
NO_STRANGER = {
    "cli": OURS, "cluster": OURS, "commands/training": OURS, "configs": OURS, "export/inside": INSIDE, "loop": OURS,
    "confinement": NOTHING,
    "loop/planning": OURS, "oracle/inside": INSIDE, "prompts": OURS, "repository/inside": INSIDE, "rl": NOTHING,
    "rl/credit": NOTHING, "rl/loss": NOTHING, "roles": OURS, "roles/injector": OURS, "roles/solver": OURS,
    "scripted/injector/inside": INSIDE, "scripted/solver/inside": INSIDE, "train": NOTHING, "update": NOTHING,
    "update/batch": NOTHING, "update/step": NOTHING,
}  # fmt: skip
"""Folder -> why it reads no stranger's text on the host."""
