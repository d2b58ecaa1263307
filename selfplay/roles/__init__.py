"""The roles that one policy plays: the prompt of each, its tools, and what is collected from its episode."""
