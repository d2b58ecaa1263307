python tests/check_all.py
