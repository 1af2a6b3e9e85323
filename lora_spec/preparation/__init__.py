"""From a spec to a model that is ready to train, and the proof that it is: torch, transformers and peft live here."""
