"""The page of `selfplay doctor`."""

from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

GB = 1e9


def diagnosis_page(found: dict[str, Any]) -> RenderableType:
    """The page, from the diagnosis as plain JSON."""
    parts: list[RenderableType] = [facts(found)]
    for number, one in enumerate((found["used"], *found["others"])):
        parts += [Text(), backend(one, used=number == 0)]
    if found["advice"]:
        parts += [Text(), Text("What would help", style="bold"), *(Text(f"- {line}") for line in found["advice"])]
    return Group(*parts)


def facts(found: dict[str, Any]) -> Table:
    machine = found["machine"]
    table = Table.grid(padding=(0, 2))
    memory = f"{machine['memory_bytes'] / GB:.1f} GB, {machine['memory_free_bytes'] / GB:.1f} GB free"
    rows = {
        "machine": f"{machine['system']}, Linux {machine['kernel']}, {machine['architecture']}",
        "runs as": machine["user"] + (" in a container" if machine["in_container"] else ""),
        "cores": str(machine["cores"]),
        "memory": memory,
        "control groups": f"v{machine['cgroup_version']}",
        "cache": f"{found['cache']}, {_room(found['cache_free_bytes'])}",
        "builds": found["builds"],
        "reading": found["reading"],
        **{name: version or "not installed" for name, version in found["packages"].items()},
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), escape(value))
    return table


def _room(free: int | None) -> str:
    return "which cannot be used" if free is None else f"{free / GB:.1f} GB free"


def backend(one: dict[str, Any], used: bool) -> Table:
    verdict = "isolates" if one["works"] else "DOES NOT ISOLATE HERE"
    name = f"{one['name']}: {verdict}" + (" (this one would be used)" if used else "")
    table = Table(title=name, title_justify="left", title_style="bold", show_header=False, box=None, padding=(0, 2))
    for what, value in one["versions"].items():
        table.add_row(what, escape(value))
    for limit, holder in one["enforcement"].items():
        table.add_row(f"limit on {limit}", escape(holder))
    for promise in one["promises"]:
        table.add_row("held", escape(promise))
    if one["problem"]:
        table.add_row("problem", escape(one["problem"]))
        table.add_row("do", escape(one["hint"]))
    return table
