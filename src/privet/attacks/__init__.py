"""An attacker's view of a promise: many runs on two neighbours, and how well they are told apart."""
