NAME = "tax"
