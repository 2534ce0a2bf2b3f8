"""One warehouse of Delta tables: address, state, claims and locks, commits, upkeep; knows no concern."""
