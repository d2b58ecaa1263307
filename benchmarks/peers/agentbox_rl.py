"""agentbox-rl's Docker sandboxes on the image that our own use: start, a command, a whole life, after a timeout."""

import asyncio
import json
import subprocess
import sys
import time

from agentbox.config import SandboxConfig
from agentbox.sandbox.manager import SandboxManager

MARK = "9473.25"


async def measure(count: int, image: str) -> dict[str, object]:
    starts, commands, ends = [], [], []
    config = SandboxConfig(image=image, auto_pull=False, ensure_pytest=False)
    async with SandboxManager(config) as manager:
        for number in range(max(count // 10, 3)):
            started = time.perf_counter()
            box = await manager.create(task_id=f"task{number}", run_id="run")
            starts.append((time.perf_counter() - started) * 1000)
            for _ in range(5):
                started = time.perf_counter()
                await manager.exec(box, ["true"])
                commands.append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            await manager.destroy(box)
            ends.append((time.perf_counter() - started) * 1000)
        box = await manager.create(task_id="last", run_id="run")
        await manager.exec(box, ["bash", "-c", f"setsid sleep {MARK} & sleep {MARK}"], timeout_s=1)
        survives = subprocess.run(["pkill", "-KILL", "-f", f"^sleep {MARK}$"]).returncode == 0
        await manager.destroy(box)
    return {"start": starts, "command": commands, "end": ends, "survives": survives}


print(json.dumps(asyncio.run(measure(int(sys.argv[1]), sys.argv[2]))))
