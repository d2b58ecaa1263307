"""Print where Python finds the modules named as arguments, as JSON: name -> file or folder, empty where nowhere."""

import importlib.util
import json
import os
import sys


def origin(name):
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        return ""
    places = list(spec.submodule_search_locations or ())
    return os.path.realpath(spec.origin or (places[0] if places else ""))


sys.path[0] = os.getcwd()  # where the tests are started
print(json.dumps({name: origin(name) for name in sys.argv[1:]}))
