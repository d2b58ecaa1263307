python3 -B -m unittest -v tests.test_prices tests.test_shop 2>&1
