"""How many vaults there are, and how their answers are combined: who pays, who sees what."""
