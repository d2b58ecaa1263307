def total(items, discount=0.0):
    if not 0 <= discount < 1:
        raise ValueError("a discount is a share")
    return round(sum(price * amount for price, amount in items) * (1 - discount), 2)


def cheapest(items):
    return min(items, key=lambda item: item[0], default=None)
