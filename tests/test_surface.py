"""The surfaces that others build on. A change here is made on purpose, together with the changelog."""

import argparse

import lora_spec
from lora_spec.cli.main import build_parser
from lora_spec.dialects.parsing import DIALECTS
from lora_spec.rules.catalogue import ALL_RULES


def test_public_names() -> None:
    assert sorted(lora_spec.__all__) == lora_spec.__all__
    assert {name: getattr(lora_spec, name) for name in lora_spec.__all__}.keys() == {
        *("Check", "Compiled", "Diagnostic", "Document", "Edit", "Fix", "LoraSpec", "Parsed", "Plan", "Position"),
        *("PreparedModel", "Range", "Rule", "Severity", "SpecError", "Step"),
        *(
            "check",
            "compile",
            "iter_adapter_state",
            "load",
            "parse",
            "plan",
            "prepare",
            "read",
            "save_adapter",
            "verify",
        ),
    }


def test_commands_and_flags() -> None:
    parser = build_parser()
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    flags = {
        name: sorted(flag for action in command._actions for flag in action.option_strings if flag.startswith("--"))
        for name, command in commands.choices.items()
    }
    assert flags == {
        "check": [
            *("--base-model", "--dialect", "--fail-on", "--format", "--help", "--ignore", "--no-model", "--online"),
            "--select",
            "--stdin-filename",
        ],
        "plan": [
            *("--batch-size", "--dialect", "--fit", "--help", "--html", "--json", "--online", "--optimizer"),
            *("--overwrite", "--sequence-length", "--world-size"),
        ],
        "compile": ["--dialect", "--help", "--output", "--overwrite", "--to"],
        "prepare": ["--dialect", "--help", "--json", "--online", "--output", "--overwrite", "--tiny"],
        "init": ["--help", "--online"],
        "explain": ["--help"],
        "rules": ["--help"],
        "schema": ["--help"],
    }


def test_dialects() -> None:
    assert [dialect.NAME for dialect in DIALECTS] == ["verl", "lora-spec"]


def test_rule_codes() -> None:
    assert " ".join(rule.code for rule in ALL_RULES) == (
        "LS001 LS002 LS003 LS004 LS005 LS006 LS007 LS008 LS009 LS010 LS011 LS012 LS013 LS014 LS015 LS016 LS017 LS018 "
        "LS019 LS101 LS102 LS103 LS104 LS105 LS106 LS107 LS108 LS109 LS121 LS122 LS123 LS124 LS125 LS126 LS127 LS128 "
        "LS129 LS130 LS141 LS142 LS150 LS151 LS152 LS153 LS154 LS155 LS156 LS157 LS158 LS159 LS160 LS161 LS201 LS202 LS203 LS204 "
        "LS205 LS206 LS207 LS208 LS209 LS210 LS211 LS212 LS213 LS214 LS215 LS216 LS217 LS218 LS219 LS220 LS221 LS222 LS223 LS224 LS225 "
        "LS226 LS227 LS228 LS229 LS230 LS231 LS232 LS233 LS234 LS235 LS236 LS237 LS301 LS302 LS303 LS304 LS305 LS306 LS307 LS308 LS309 LS310 LS311 LS312 LS313 LS401 LS501 LS701 LS801 LS802 LS803"
    )


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in ALL_RULES}) == len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)
