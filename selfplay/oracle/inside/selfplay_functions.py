"""Writes functions that tests make in passing, such as `lambda x: x + n`, as source with what they use: part of the
program that records how tests enter the program. Needs Python 3.9; before, such functions are not written.

What it needs is imported in its functions: this text stands at the end of test files, whose names it must not take."""

SELFPLAY_OPEN = open
"""A test may replace it."""


class SelfplayFunctions:
    """`trees`: file -> the functions in it that are one expression, by their first line."""

    def __init__(self, literal):
        self.literal, self.trees = literal, {}

    def source(self, function, depth):
        """A lambda, or a function that only returns, as source; None if it cannot be written."""
        code = function.__code__
        near = set(self.of_file(code.co_filename).get(code.co_firstlineno, ()))
        found = [text for text in near if self.uses(self.code_of(text)) == self.uses(code)]
        if len(found) != 1 or not depth:
            return None
        text = self.with_defaults(found[0], function, depth)
        known, used = self.around(function), {}
        for name in self.free(found[0]):
            if name in known:
                used[name] = self.literal(known[name], depth - 1)
            elif name not in vars(__import__("builtins")):
                return None
        if text is None or None in used.values():
            return None
        return "(lambda %s: %s)(%s)" % (", ".join(used), text, ", ".join(used.values())) if used else "(%s)" % text

    @staticmethod
    def code_of(text):
        """The code of a lambda, which is not run."""
        return next(one for one in compile(text, "", "eval").co_consts if hasattr(one, "co_code"))

    @staticmethod
    def uses(code):
        """Its arguments, the names that it uses, and its constants: several functions may be in one line."""
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        constants = sorted(repr(one) for one in code.co_consts if not hasattr(one, "co_code") and one is not None)
        return names, sorted({*code.co_names, *code.co_freevars}), constants

    def with_defaults(self, text, function, depth):
        """The source of a lambda with the defaults that this function has; None if they cannot be written."""
        import ast

        values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        words = [self.literal(one, depth - 1) for one in values]
        if None in words:
            return None
        tree = ast.parse(text, mode="eval").body
        made = [ast.parse(word, mode="eval").body for word in words]
        first = len(function.__defaults__ or ())
        tree.args.defaults = made[:first]
        named = dict(zip(function.__kwdefaults__ or {}, made[first:]))
        tree.args.kw_defaults = [named.get(one.arg) for one in tree.args.kwonlyargs]
        return ast.unparse(tree)

    def of_file(self, file):
        import ast

        if file not in self.trees:
            try:
                with SELFPLAY_OPEN(file, "rb") as stream:
                    nodes = list(ast.walk(ast.parse(stream.read()))) if hasattr(ast, "unparse") else []
            except (OSError, SyntaxError, ValueError, RecursionError):
                return {}
            found = self.trees[file] = {}
            for node in nodes:
                made = self.expression(node)
                if made is not None:
                    found.setdefault(node.lineno, []).append(ast.unparse(made))
        return self.trees[file]

    @staticmethod
    def expression(node):
        """The lambda that a node is, or is as good as, without its defaults."""
        import ast

        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
        if plain and len(node.body) == 1 and isinstance(node.body[0], ast.Return) and node.body[0].value is not None:
            value = node.body[0].value
        elif isinstance(node, ast.Lambda):
            value = node.body
        else:
            return None
        given = node.args
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if one is not None:
                one.annotation = None
        given.defaults, given.kw_defaults = [], [None for _ in given.kwonlyargs]
        return ast.Lambda(given, value)

    @staticmethod
    def around(function):
        """The variables that the function can see."""
        seen = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                seen[name] = cell.cell_contents
            except ValueError:  # not set yet
                continue
        return {**function.__globals__, **seen}

    @staticmethod
    def free(text):
        """The variables that a lambda takes from around it."""
        import ast

        nodes = list(ast.walk(ast.parse(text, mode="eval")))
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        return sorted({node.id for node in nodes if isinstance(node, ast.Name)} - own)
