"""``plan`` of a 671B model, cold, and what the model adds to ``check``: ``python tests/benchmarks/planning.py``.

Prints the times beside the floor of ``startup.py`` and the peak memory of the process; exits 1 over budget.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
FILE = "base_model: deepseek-ai/DeepSeek-V3\nlora:\n  rank: 8\n  alpha: 16\n  target_modules: [q_a_proj, q_b_proj, o_proj]\n"
OURS = [sys.executable, "-c", "from lora_spec.cli.main import console; console()"]
ROUNDS = 11
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode; without it every run would compile the sources anew."""
SECONDS, MEGABYTES, ADDED_SECONDS = 0.3, 80, 0.1


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lora.yaml")
        file.write_text(FILE)
        commands = {
            "floor": [sys.executable, str(HERE / "floor.py"), str(file)],
            "plan": [*OURS, "plan", str(file)],
            "check": [*OURS, "check", str(file)],
            "check --no-model": [*OURS, "check", "--no-model", str(file)],
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], seconds(command))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    for name, value in best.items():
        print(f"{name:<18} {value * 1000:7.1f} ms  {value / best['floor']:5.2f} x floor")
    added = best["check"] - best["check --no-model"]
    print(f"the model adds {added * 1000:.1f} ms to check (budget {ADDED_SECONDS * 1000:.0f})")
    print(f"plan: {best['plan']:.3f} s (budget {SECONDS}), largest process {peak:.0f} MB (budget {MEGABYTES})")
    return int(best["plan"] > SECONDS or peak > MEGABYTES or added > ADDED_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
