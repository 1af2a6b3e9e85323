"""The command `lora-spec`: its arguments, and which file runs each command.

Nothing heavy is imported before a command runs, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from lora_spec import __version__

USAGE_ERROR = 2
OUR_FAULT = 3


def console() -> NoReturn:
    """The console entry point: run, flush, leave.

    The garbage collector is off while modules load and the interpreter is not torn down: a quarter of a short run's
    time. ``main`` does neither, so that tests and programs can call it.
    """
    gc.disable()
    code = _guarded(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os._exit(1)
    os._exit(code)


def _guarded(argv: Sequence[str]) -> int:
    try:
        return main(argv)
    except SystemExit as stop:  # argparse
        return stop.code if isinstance(stop.code, int) else USAGE_ERROR
    except BrokenPipeError:  # the reader went away, as `head` does
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001 - the one place where our own faults end: exit status 3 and what to report
        import traceback

        traceback.print_exc()
        sys.stderr.write(f"\nthis is a fault of lora-spec {__version__}: please report the lines above and the file\n")
        return OUR_FAULT


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status; bad arguments raise SystemExit(2), as argparse does."""
    arguments = build_parser().parse_args(argv)
    code: int = import_module(f"lora_spec.cli.{arguments.module}").run(arguments)
    return code


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="lora-spec",
        description="Finds mistakes in LoRA fine-tuning configs before the model is loaded, and prepares the model.",
        epilog="exit status: 0 no errors, 1 errors found, 2 could not do it, 3 a fault of lora-spec",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"lora-spec {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_check(commands)
    _add_plan(commands)
    _add_compile(commands)
    _add_prepare(commands)
    _add_init(commands)
    _add_explain(commands)
    _add_rules(commands)
    _add_schema(commands)
    return parser


_Commands = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it


def _command(
    commands: _Commands[argparse.ArgumentParser], name: str, module: str, text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(module=module)
    return parser


def _add_check(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "check", "check", "say every fault of config files")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="file or folder; - is standard input (default: .)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how the result is written")
    parser.add_argument("--dialect", metavar="NAME", help="read the files as this format instead of recognising it")
    parser.add_argument("--select", metavar="CODE,…", help="only these rules; a prefix such as LS1 takes a family")
    parser.add_argument("--ignore", metavar="CODE,…", help="not these rules")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "unchecked"),
        default="error",
        help="what makes the exit status 1: errors, warnings too, or also what could not be checked",
    )
    model = parser.add_mutually_exclusive_group()
    model.add_argument("--no-model", action="store_true", help="do not look at the base model")
    model.add_argument("--base-model", metavar="ID|FOLDER", help="hold the targets against this model instead")
    parser.add_argument("--online", action="store_true", help="ask the hub for a config that is not on this machine")
    parser.add_argument("--stdin-filename", metavar="NAME", help="the name that standard input stands for")


def _add_plan(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "plan", "plan", "say what would be trained: modules, counts, bytes, memory")
    parser.add_argument("path", metavar="PATH", help="config file; - is standard input")
    parser.add_argument("--dialect", metavar="NAME", help="read the file as this format instead of recognising it")
    parser.add_argument("--json", action="store_true", help="write the plan as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the plan as a page")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--world-size", type=_positive, metavar="N", help="processes, one device each")
    parser.add_argument("--batch-size", type=_positive, metavar="N", help="sequences in a micro-batch on one device")
    parser.add_argument("--sequence-length", type=_positive, metavar="N", help="tokens in a sequence")
    parser.add_argument("--optimizer", choices=("adamw", "adamw_8bit", "sgd", "adafactor"), help="default: adamw")
    parser.add_argument("--fit", metavar="SIZE", help="say whether it fits in a device of, say, 80GB")
    parser.add_argument("--online", action="store_true", help="ask the hub for a config that is not on this machine")


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return number


def _add_compile(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "compile", "compile", "print PEFT's keyword arguments as JSON")
    parser.add_argument("path", metavar="PATH", help="config file; - is standard input")
    parser.add_argument("--to", choices=("peft",), required=True, help="what to write")
    parser.add_argument("--dialect", metavar="NAME", help="read the file as this format instead of recognising it")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def _add_prepare(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "prepare", "prepare", "build the model, make it ready to train, and verify the result")
    parser.add_argument("path", metavar="PATH", help="config file; - is standard input")
    parser.add_argument("--dialect", metavar="NAME", help="read the file as this format instead of recognising it")
    parser.add_argument("--tiny", action="store_true", help="rehearse the architecture at its smallest, random weights")
    parser.add_argument("--output", metavar="DIR", help="save the adapter there")
    parser.add_argument("--overwrite", action="store_true", help="replace the adapter in DIR")
    parser.add_argument("--online", action="store_true", help="ask the hub for what is not on this machine")
    parser.add_argument("--json", action="store_true", help="write the result as JSON")


def _add_init(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "init", "init", "write a starting file with the right targets for a model")
    parser.add_argument("model", metavar="MODEL", help="hub id or local folder")
    parser.add_argument("--online", action="store_true", help="ask the hub for a config that is not on this machine")


def _add_explain(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "explain", "explain", "say why a rule matters, with a bad and a good example")
    parser.add_argument("code", metavar="CODE", help="such as LS011, or the rule's name")


def _add_rules(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "rules", "explain", "list the rules")
    parser.set_defaults(code=None)


def _add_schema(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "schema", "schema", "print the JSON Schema that editors use")
    parser.add_argument("dialect", nargs="?", default="lora-spec", metavar="DIALECT", help="default: lora-spec")
