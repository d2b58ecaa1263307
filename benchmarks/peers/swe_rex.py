"""swe-rex's local deployment: milliseconds to start, of a command in its session, and whether a timeout kills it."""

import asyncio
import json
import subprocess
import sys
import time

from swerex.deployment.local import LocalDeployment
from swerex.runtime.abstract import BashAction, CreateBashSessionRequest

MARK = "9471.25"


async def measure(count: int) -> dict[str, object]:
    starts, commands = [], []
    for _ in range(max(count // 10, 3)):
        started = time.perf_counter()
        deployment = LocalDeployment()
        await deployment.start()
        await deployment.runtime.create_session(CreateBashSessionRequest())
        starts.append((time.perf_counter() - started) * 1000)
        for _ in range(5):
            started = time.perf_counter()
            await deployment.runtime.run_in_session(BashAction(command="true"))
            commands.append((time.perf_counter() - started) * 1000)
        await deployment.stop()
    return {"start": starts, "command": commands, "survives": await survives()}


async def survives() -> bool:
    """Whether a command that ran past its timeout is still there."""
    deployment = LocalDeployment()
    await deployment.start()
    await deployment.runtime.create_session(CreateBashSessionRequest())
    try:
        await deployment.runtime.run_in_session(BashAction(command=f"setsid sleep {MARK}", timeout=0.5))
    except Exception:  # its own timeout error
        time.sleep(0.5)
    found = subprocess.run(["pkill", "-KILL", "-f", f"^sleep {MARK}$"]).returncode == 0
    await deployment.stop()
    return found


print(json.dumps(asyncio.run(measure(int(sys.argv[1])))))
