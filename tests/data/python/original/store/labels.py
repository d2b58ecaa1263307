def label(name, width=12):
    short = name if len(name) <= width else name[: width - 1] + "…"
    return short.title()
