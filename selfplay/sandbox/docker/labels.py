"""Labels that name the process that owns a container. They are unique to the process, so that the next start finds what
a crash left behind."""

import functools
import os

from selfplay.sandbox.kernel_text import kernel_text
from selfplay.sandbox.owners import identity, namespace

LABEL_HOST, LABEL_SUPERVISOR = "selfplay.host", "selfplay.supervisor"


@functools.cache
def host_identity() -> str:
    """This machine since its boot, and the pid namespace."""
    boot = kernel_text("/proc/sys/kernel/random/boot_id").strip()
    return f"{boot}-{namespace()}"


def labels() -> dict[str, str]:
    """The labels of all containers that this process creates."""
    return {LABEL_HOST: host_identity(), LABEL_SUPERVISOR: identity(os.getpid())}
