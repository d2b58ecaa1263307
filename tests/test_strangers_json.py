"""JSON that somebody else wrote is read by `untrusted_json` alone, which bounds its values, depth and numbers."""

import ast

from package_patterns import texts

OWN = {
    "selfplay/untrusted_json.py",
    # what this user's cache or this process holds
    "selfplay/curriculum/calibrations.py",
    "selfplay/policies/smollm2.py",
    "selfplay/repository/build_or_reuse.py",
    "selfplay/repository/building/keys.py",
    "selfplay/repository/suites/kept_runs.py",
    "selfplay/repository/suites/suite.py",
    "selfplay/sandbox/launcher.py",
    "selfplay/scripted/injector/survey_cache.py",
    # values that are written as JSON, and read back as they would be from a file
    "selfplay/commands/learn.py",
    "selfplay/commands/result_folder.py",
    "selfplay/loop/config.py",
    "selfplay/train/identity.py",
    # answers of a server of ours; of an endpoint, whose length and values are bounded before
    "selfplay/environments/client.py",
    "selfplay/policies/completion.py",
    # a patch's settings: at most a million characters
    "selfplay/oracle/screening/settings.py",
}
"""Modules that call `json.loads` or `json.load`, and why they may."""


def readers() -> set[str]:
    """The modules that read JSON by themselves; programs that run in sandboxes alone are left out."""
    found = set()
    for name, text in texts().items():
        for node in ast.walk(ast.parse(text)) if "/inside/" not in name else ():
            if isinstance(node, ast.Attribute) and node.attr in ("load", "loads"):
                found |= {name} if isinstance(node.value, ast.Name) and node.value.id == "json" else set()
    return found


def test_only_these_modules_read_json_by_themselves() -> None:
    assert readers() == OWN
