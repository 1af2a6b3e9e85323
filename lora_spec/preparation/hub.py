"""The hub is asked only where that was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import huggingface_hub.constants


@contextmanager
def offline() -> Iterator[None]:
    """No request leaves the process meanwhile, whatever the environment says; afterwards all is as it was.

    Both are needed: huggingface_hub reads the variable once, at import, into its constant; PEFT 0.21.2
    (``check_file_exists_on_hf_hub``) reads the variable each time.
    """
    constant = huggingface_hub.constants.HF_HUB_OFFLINE
    variable = os.environ.get("HF_HUB_OFFLINE")
    huggingface_hub.constants.HF_HUB_OFFLINE = True
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        huggingface_hub.constants.HF_HUB_OFFLINE = constant
        if variable is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = variable


@contextmanager
def hub(*, online: bool) -> Iterator[None]:
    """Let requests through where ``online`` says so, as far as the environment allows them."""
    if online:
        yield
    else:
        with offline():
            yield
