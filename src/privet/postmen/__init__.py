"""Who carries messages between sites: files that run elsewhere, in the environment of an engine and
without Privet. None is trusted: they hand over bytes that they cannot read, forge or use twice."""
