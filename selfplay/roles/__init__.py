"""The roles that one policy plays: each with its prompt, its tools, and what is collected from its episodes."""
