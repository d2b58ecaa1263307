"""Runs in Harbor's environment: one trial of one of its own agents on a task, and what its verifier says.

Harbor's Docker environment needs `docker compose`, which a plain engine lacks: this one does the same with
`docker run`, `exec` and `cp`. Arguments: the task's folder, the agent, a folder for the trial."""

import asyncio
import json
import pathlib
import subprocess
import sys
import uuid

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.trial.trial import Trial


class Engine(BaseEnvironment):
    @staticmethod
    def type():
        return "plain-engine"

    def _validate_definition(self):
        assert self.task_env_config.docker_image, "the task names an image"

    async def start(self, force_build):
        self.name = f"harbor-{uuid.uuid4().hex[:12]}"
        command = ["run", "-d", "--network", "none", "--name", self.name, self.task_env_config.docker_image]
        docker(*command, "sleep", "600")
        await self.exec("mkdir -p /logs/agent /logs/verifier /logs/artifacts && chmod -R 777 /logs")

    async def stop(self, delete):
        docker("rm", "-f", self.name)

    async def upload_file(self, source_path, target_path):
        await self.exec(f"mkdir -p {pathlib.PurePosixPath(target_path).parent}")
        docker("cp", str(source_path), f"{self.name}:{target_path}")

    async def upload_dir(self, source_dir, target_dir):
        await self.exec(f"mkdir -p {target_dir}")
        docker("cp", f"{source_dir}/.", f"{self.name}:{target_dir}")

    async def download_file(self, source_path, target_path):
        docker("cp", f"{self.name}:{source_path}", str(target_path))

    async def download_dir(self, source_dir, target_dir):
        pathlib.Path(target_dir).mkdir(parents=True, exist_ok=True)
        docker("cp", f"{self.name}:{source_dir}/.", str(target_dir))

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        where = ["-w", cwd] if cwd else []
        given = [word for name, value in (env or {}).items() for word in ("-e", f"{name}={value}")]
        done = subprocess.run(
            ["docker", "exec", *where, *given, self.name, "bash", "-c", command], capture_output=True, text=True,
            timeout=timeout_sec,
        )  # fmt: skip
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)


def docker(*arguments):
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def main(task, agent, out):
    config = TrialConfig(
        task=TaskConfig(path=pathlib.Path(task)),
        trials_dir=pathlib.Path(out),
        agent=AgentConfig(name=agent),
        environment=EnvironmentConfig(import_path="harbor_trial:Engine"),
    )
    trial = await Trial.create(config)
    return await trial.run()


if __name__ == "__main__":
    sys.modules["harbor_trial"] = sys.modules["__main__"]
    result = asyncio.run(main(*sys.argv[1:]))
    said = result.verifier_result and result.verifier_result.rewards
    print("RESULT " + json.dumps({"rewards": said, "error": str(result.exception_info or "")}))
