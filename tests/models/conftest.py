"""A real model, fetched as a user would: in process under vLLM, and behind vLLM's own server. Either starts for half a
minute, once for the one file of tests that uses it: two workers share the files."""

import fcntl
import os
import socket
import subprocess
import sys
import time
import urllib.request
from asyncio import Runner
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_repository
import torch
from bench_fixtures import backend
from serving import Serving
from together import together

from selfplay.agent.chat_format import ChatFormat
from selfplay.policies.smollm2 import fetch_smollm2
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.policies.vllm_engine import VllmModel
from selfplay.policies.vllm_options import VllmOptions
from selfplay.repository.cache import default_cache

__all__ = ["backend", "together"]
CONTEXT = 2048
VLLM = VllmOptions(dtype="float32", context=CONTEXT, cache_gb=1, most_sequences=64, chunk=128)
"""Small pieces, so that ordinary prompts take several."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="no GPU is here: what it shows was not run"))


@pytest.fixture(scope="session")
def smollm2(together: Path) -> Path:
    with (together / "smollm2.lock").open("w") as one_worker:
        fcntl.flock(one_worker, fcntl.LOCK_EX)
        return fetch_smollm2(default_cache(), print)


@pytest.fixture(scope="session")
def chat(smollm2: Path) -> ChatFormat:
    return ChatFormat(load_tokenizer(str(smollm2)))


@pytest.fixture(scope="session")
def loop() -> Iterator[Runner]:
    """One event loop for all tests: models live on it."""
    with Runner() as loop:
        yield loop


@pytest.fixture(scope="module")
def server(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    argv = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(smollm2), "--host", "127.0.0.1",
        "--port", str(port), "--served-model-name", "smollm2", "--max-model-len", str(CONTEXT), "--enforce-eager",
        "--dtype", "float32",
    ]  # fmt: skip
    env = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "WARNING"}
    with log.open("wb") as out, subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, env=env) as process:
        yield answering(Serving(process, f"http://127.0.0.1:{port}/v1", log))
        process.terminate()
        process.wait(timeout=30)


def answering(server: Serving) -> Serving:
    """The server, once it answers."""
    for _ in range(600):
        if server.process.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{server.url}/models", timeout=5).read()
            return server
        except OSError:
            time.sleep(0.5)
    server.process.kill()
    pytest.fail(f"vLLM's server did not start:\n{server.log.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def engine(smollm2: Path, loop: Runner) -> Iterator[VllmModel]:
    model = loop.run(VllmModel.open(str(smollm2), VLLM))
    yield model
    loop.run(model.close())


@pytest.fixture(scope="session")
def slow_model(smollm2: Path, loop: Runner) -> Iterator[TransformersModel]:
    model = loop.run(TransformersModel.open(str(smollm2), TransformersOptions(dtype="float32", context=CONTEXT)))
    yield model
    loop.run(model.close())


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_repository.make(tmp_path_factory.mktemp("shop") / "shop")
