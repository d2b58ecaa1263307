"""Fixed tables from words in error texts to distributions that a build may install.

Error texts are untrusted. A name that is neither in these tables nor declared by the project is not installed: somebody
could have registered it as a trap for misspellings.
"""

import re
from collections.abc import Collection, Iterable

from packaging.utils import canonicalize_name

DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless", "dateutil": "python-dateutil",
    "git": "GitPython", "google.protobuf": "protobuf", "jwt": "PyJWT", "OpenSSL": "pyOpenSSL", "PIL": "pillow",
    "pkg_resources": "setuptools<81", "serial": "pyserial", "sklearn": "scikit-learn", "skimage": "scikit-image",
    "yaml": "PyYAML", "zmq": "pyzmq", "Crypto": "pycryptodome", "magic": "python-magic",
    "flask_sqlalchemy": "Flask-SQLAlchemy", "nose": "pynose", "vcr": "vcrpy", "socks": "PySocks",
    "zope": "zope.interface", "distutils": "setuptools<81", "docx": "python-docx", "dotenv": "python-dotenv",
    "jose": "python-jose", "multipart": "python-multipart", "ruamel": "ruamel.yaml", "slugify": "python-slugify",
    "websocket": "websocket-client", "memcache": "python-memcached", "MySQLdb": "mysqlclient",
    "psycopg2": "psycopg2-binary", "ldap": "python-ldap", "Levenshtein": "python-Levenshtein", "faker": "Faker",
    "factory": "factory-boy", "mpl_toolkits": "matplotlib",
}  # fmt: skip
"""Modules whose distribution has another name."""
SAME = frozenset(
    """
    aiofiles aiohttp aiosqlite anyio argcomplete asgiref attrs babel betamax blinker boto3 botocore brotli
    cachetools cbor2 certifi cffi chardet charset-normalizer click cloudpickle colorama coverage cryptography
    cssselect curio cython dask decorator defusedxml dill dirty-equals distro django docutils email-validator
    eventlet execnet fastapi filelock flask flaky freezegun future gevent graphviz greenlet gunicorn h11 h2 h5py
    html5lib httpbin httplib2 httpretty httptools httpx hypothesis idna importlib-metadata iniconfig inline-snapshot
    ipython iso8601 isodate isort itsdangerous jinja2 jmespath joblib jsonpath-ng jsonschema keyring lark livereload
    lxml lz4 mako markdown markupsafe marshmallow matplotlib mistune mock more-itertools moto mpmath msgpack
    multidict mypy nbformat ndg-httpsclient networkx nltk notebook numba numexpr numpy oauthlib objgraph odfpy
    olefile openpyxl orjson packaging pandas paramiko parameterized parso passlib pathspec pebble peewee pendulum
    pep8 pexpect pillow platformdirs pluggy ply portend pretend prettytable priority prometheus-client
    prompt-toolkit proxy psutil ptyprocess pure-eval py py-cpuinfo pyarrow pyasn1 pycodestyle pycparser pydantic
    pydot pyfakefs pyflakes pygments pyinstrument pylint pymongo pympler pyparsing pyperclip pysocks python-dateutil
    pytz pyyaml redis regex requests requests-mock responses rich rsa ruff scipy seaborn selectolax selenium
    setuptools shapely simplejson simpy six sniffio snowballstemmer sortedcontainers soupsieve sphinx sqlalchemy
    sqlparse starlette statsmodels structlog sympy tabulate tblib tenacity termcolor testfixtures testtools
    text-unidecode time-machine toml tomli tomli-w tomlkit toolz tornado tox tqdm traitlets trio trustme twisted
    typeguard typer typing-extensions tzdata tzlocal ujson uritemplate urllib3 uvicorn uvloop virtualenv w3lib
    watchdog wcwidth webob websockets webtest werkzeug wheel wrapt wsproto xarray xlrd xlsxwriter xlwt xmltodict
    yarl zipp zstandard
    """.split()  # noqa: SIM905
)
"""Distributions whose module has their own name."""
PLUGINS = frozenset(
    """
    pytest-aiohttp pytest-asyncio pytest-benchmark pytest-check pytest-cov pytest-datadir pytest-django pytest-env
    pytest-examples pytest-flakes pytest-flask pytest-forked pytest-freezer pytest-httpbin pytest-httpserver
    pytest-httpx pytest-localserver pytest-memray pytest-mock pytest-mypy-plugins pytest-order pytest-pretty
    pytest-randomly pytest-recording pytest-regressions pytest-repeat pytest-rerunfailures pytest-run-parallel
    pytest-socket pytest-subprocess pytest-subtests pytest-sugar pytest-timeout pytest-tornado pytest-tornasync
    pytest-trio pytest-twisted pytest-vcr pytest-xdist pytest-xprocess syrupy requests-mock flaky
    """.split()  # noqa: SIM905
)
WORDS = {
    "asyncio": "pytest-asyncio", "asyncio_mode": "pytest-asyncio", "event_loop": "pytest-asyncio",
    "asyncio_default_fixture_loop_scope": "pytest-asyncio", "unused_tcp_port": "pytest-asyncio",
    "django_db": "pytest-django", "DJANGO_SETTINGS_MODULE": "pytest-django", "rf": "pytest-django",
    "trio": "pytest-trio", "trio_mode": "pytest-trio", "anyio": "anyio", "anyio_backend": "anyio", "flaky": "flaky",
    "timeout": "pytest-timeout", "benchmark": "pytest-benchmark", "limit_memory": "pytest-memray",
    "env": "pytest-env", "thread_unsafe": "pytest-run-parallel", "parallel_threads": "pytest-run-parallel",
    "order": "pytest-order", "iterations": "pytest-run-parallel", "num_parallel_threads": "pytest-run-parallel",
    "freeze_time": "pytest-freezer", "freezer": "pytest-freezer", "repeat": "pytest-repeat",
    "forked": "pytest-forked", "vcr": "pytest-recording", "mocker": "pytest-mock", "requests_mock": "requests-mock",
    "httpserver": "pytest-httpserver", "httpbin": "pytest-httpbin", "httpx_mock": "pytest-httpx",
    "subtests": "pytest-subtests", "fp": "pytest-subprocess", "snapshot": "syrupy",
    "data_regression": "pytest-regressions", "file_regression": "pytest-regressions", "datadir": "pytest-datadir",
    "shared_datadir": "pytest-datadir", "xprocess": "pytest-xprocess", "socket_enabled": "pytest-socket",
    "socket_disabled": "pytest-socket", "check": "pytest-check", "aiohttp_client": "pytest-aiohttp",
    "hypothesis": "hypothesis", "run_parallel": "pytest-run-parallel", "eval_example": "pytest-examples",
    "smtpserver": "pytest-localserver", "httpsserver": "pytest-localserver", "timeout_method": "pytest-timeout",
    "--timeout": "pytest-timeout", "--benchmark-disable": "pytest-benchmark", "--disable-socket": "pytest-socket",
    "--reuse-db": "pytest-django", "--ds": "pytest-django", "--reruns": "pytest-rerunfailures",
    "--parallel-threads": "pytest-run-parallel", "--forked": "pytest-forked",
    "--mypy-ini-file": "pytest-mypy-plugins", "--asyncio-mode": "pytest-asyncio",
    "--hypothesis-profile": "hypothesis", "--flake8": "pytest-flake8",
}  # fmt: skip
"""Marks, fixtures, options and settings -> the plugin that provides them."""
MOST_TEXT, MOST_FOUND = 200_000, 50
"""Limits: characters of an error text that are read, and names taken from it."""
_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]{1,200})")
_IMPORTED = re.compile(r"Error importing plugin \"([\w.]{1,100})\"")
_WORD = (
    re.compile(r"'([\w-]{1,60})' not found in `markers` configuration option"),
    re.compile(r"Unknown pytest\.mark\.(\w{1,60})"),
    re.compile(r"Unknown config option: (\w{1,60})"),
    re.compile(r"fixture '(\w{1,60})' not found"),
    re.compile(r"unrecognized arguments: (--[\w-]{1,60})"),
)
_REQUIRED = re.compile(r"Missing required plugins: ([\w.<>=~!, -]{1,400})")
_ASYNC = "async def functions are not natively supported"


def missing_modules(log: str) -> list[str]:
    """The modules that a pytest log reports as missing."""
    return list(dict.fromkeys([*_MODULE.findall(log), *_IMPORTED.findall(log)]))[:MOST_FOUND]


def named_plugins(log: str) -> list[str]:
    """The pytest plugins that an error text asks for, by its marks, fixtures, options and settings."""
    found = [WORDS[word] for pattern in _WORD for word in pattern.findall(log)[:1000] if word in WORDS]
    for listed in _REQUIRED.findall(log)[:10]:
        names = (re.match(r"[\w.-]{1,80}", part.strip()) for part in listed.split(","))
        found += [name[0] for name in names if name and canonicalize_name(name[0]) in PLUGINS]
    return list(dict.fromkeys([*found, *(["pytest-asyncio"] if _ASYNC in log else [])]))[:MOST_FOUND]


def distribution_of(module: str, declared: Collection[str]) -> str | None:
    """The distribution of a missing module that may be installed: one that a table maps, or the project declares."""
    first = module.split(".")[0]
    mapped = DISTRIBUTIONS.get(module, DISTRIBUTIONS.get(first))
    name = canonicalize_name(first)
    if mapped is None and (name in SAME or name in PLUGINS or name in declared):
        return name
    return mapped


def distributions_of(modules: Iterable[str], declared: Collection[str]) -> set[str]:
    return {name for module in modules if (name := distribution_of(module, declared))}
