"""Advice for machines on which no sandbox can be started, from their settings."""

import contextlib
import os
from pathlib import Path

from selfplay.sandbox.kernel_text import kernel_text


def namespace_remedy() -> str:
    """Advice if namespaces cannot be made, based on this machine's settings."""
    settings = {
        "kernel.unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
        "user.max_user_namespaces": ("0", "sysctl user.max_user_namespaces=15000"),
        "kernel.apparmor_restrict_unprivileged_userns": (
            "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that grants bwrap `userns`",
        ),
    }
    for name, (bad, command) in settings.items():
        path = Path("/proc/sys", *name.split("."))
        with contextlib.suppress(OSError):
            if kernel_text(path).strip() == bad:
                return f"User namespaces are switched off. As root: {command}."
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")):
        return (
            "This is a container that may not make namespaces. Use the host, or run it with "
            "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined --cap-add SYS_ADMIN`."
        )
    return f"Needed: Linux 5.14 or newer (this is {os.uname().release}) with user namespaces, on x86_64 or aarch64."
