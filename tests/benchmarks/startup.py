"""Cold start-up against the floor: ``python tests/benchmarks/startup.py``. Prints ratios of minima; exits 1 over budget.

Each round runs every command once, in turn, so that a busy machine slows them alike.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
FILE = "base_model: tiny-qwen2\nlora:\n  rank: 8\n  alpha: 16\n  target_modules: [q_proj, v_proj]\nprepare:\n  dtype: bfloat16\n"
ROUNDS = 15
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode; without it every run would compile the sources anew."""
BUDGET = {"check": 1.3, "help": 0.6, "version": 0.6}


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def long_document() -> str:
    names = "".join(f"    - layers.{index}.self_attn.q_proj\n" for index in range(990))
    return f"base_model: tiny-qwen2\nlora:\n  rank: 8\n  alpha: 16\n  target_modules:\n{names}"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        file, long = Path(folder, "lora.yaml"), Path(folder, "long.yaml")
        file.write_text(FILE)
        long.write_text(long_document())
        ours = [sys.executable, "-m", "lora_spec"]
        commands = {
            "floor": [sys.executable, str(HERE / "floor.py"), str(file)],
            "check": [*ours, "check", "--no-model", str(file)],
            "check, 1000 lines": [*ours, "check", "--no-model", str(long)],
            "help": [*ours, "--help"],
            "version": [*ours, "--version"],
        }
        best = {name: float("inf") for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], seconds(command))
    for name, value in best.items():
        print(f"{name:<18} {value * 1000:7.1f} ms  {value / best['floor']:5.2f} x floor")
    extra = (best["check, 1000 lines"] - best["check"]) * 1000
    print(f"1000 lines beyond a short file: {extra:.1f} ms (budget 50)")
    over = [name for name, limit in BUDGET.items() if best[name] > limit * best["floor"]]
    return int(bool(over) or extra > 50)


if __name__ == "__main__":
    sys.exit(main())
