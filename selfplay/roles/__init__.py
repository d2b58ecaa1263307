"""The two roles one policy plays: what each is told, what ends its episode, what is collected from it."""
