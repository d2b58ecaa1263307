COUNTRIES = {"de": 49, "fr": 33, "pl": 48}
