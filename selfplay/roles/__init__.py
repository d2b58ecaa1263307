"""The roles that one policy plays: what each is told, which tools it has, what is collected from its episode."""
