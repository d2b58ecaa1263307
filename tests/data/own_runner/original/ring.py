"""A buffer of a fixed size."""


class Ring:
    def __init__(self, size):
        self.size = size
        self.items = []
        self.pushed = 0

    def push(self, item):
        """Whether there was room."""
        if len(self.items) == self.size:
            return False
        self.items.append(item)
        self.pushed += 1
        return True

    def pop(self):
        """The oldest item, or None."""
        return self.items.pop(0) if self.items else None


def count_words(text):
    return len(text.split())
