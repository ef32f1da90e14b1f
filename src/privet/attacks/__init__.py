"""An attacker's view of a promise: runs on two neighbours, and how well they are told apart."""
