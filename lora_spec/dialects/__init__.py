"""Config formats, one file each: how one is recognised and what its keys mean natively."""
