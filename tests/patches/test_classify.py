"""Test files told from code by path, over the conventions of many languages."""

import pytest

from selfplay.patches import is_test_file

TESTS = """
tests/test_api.py  test_api.py  api_test.py  tests.py  pkg/tests/__init__.py  conftest.py  src/conftest.py
tests/data/input.json  testing/test_x.py  pytest.ini  tox.ini  pkg/test/helpers.py  unit_tests/x.py
lib/a.test.js  lib/a.spec.ts  __tests__/a.js  src/__mocks__/fs.js  src/__snapshots__/a.js.snap  jest.config.js
vitest.config.ts  cypress/login.cy.js  e2e/login.ts  .mocharc.json  karma.conf.js  test/slug.test.js  a-test.mjs
pkg/server_test.go  pkg/testdata/in.txt  tests/it.rs  spec/models/user_spec.rb  test/user_test.rb  .rspec
src/test/java/org/x/FooTest.java  FooTests.java  TestFoo.java  FooIT.java  FooTestCase.php  FooSpec.scala
Foo.Tests/Bar.cs  Project.UnitTests/A.cs  BarTests.cs  FooTests.swift  FooSpec.hs  test/foo_test.exs  t/basic.t
tests/check_ring.c  test_ring.c  ring_test.cc  RingTest.cpp  unittest.cpp  features/login.feature  run.bats
lib/foo_test.dart  foo-tests.el  spec/foo_spec.lua  testsuite/a.ml  Test/Unit.pm
"""
CODE = """
src/api.py  latest.py  contest.py  src/attestation.py  protest/march.py  greatest.c  testimony.py  inspect.py
specification.py  fsspec/spec.py  open_spec.py
aspects/a.py
pkg/spec/openapi.py  specs/schema.py  lib/fastest.js  src/main.rs  Makefile  setup.py  README.md  docs/testing.md
fest/a.go  Latest.java  Contest.java  IT.java  Unit.java  src/spectrum.c  pkg/testify.go  AUDIT.cs  EDIT.java
docs/tests.rst  pyproject.toml  package.json  requirements-test.txt  bin/test  Greatest.java  manifest.json
"""


@pytest.mark.parametrize("path", TESTS.split())
def test_tests(path):
    assert is_test_file(path)


@pytest.mark.parametrize("path", CODE.split())
def test_code(path):
    assert not is_test_file(path)
