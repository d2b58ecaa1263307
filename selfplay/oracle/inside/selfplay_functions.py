"""Writes functions that tests make in passing, such as `lambda x: x + n`, as source with what they use: part of the
program that records how tests enter the program. Needs Python 3.9; before, such functions are not written."""

import ast
import builtins


class SelfplayFunctions:
    """`trees`: file -> the functions in it that are one expression, by their first line."""

    def __init__(self, literal):
        self.literal, self.trees = literal, {}

    def source(self, function, depth):
        """A lambda, or a function that only returns, as source; None if it cannot be written."""
        code = function.__code__
        near = {ast.unparse(node) for node in self.of_file(code.co_filename).get(code.co_firstlineno, ())}
        found = [text for text in near if self.uses(eval(compile(text, "", "eval"), {}).__code__) == self.uses(code)]
        if len(found) != 1 or not depth:
            return None
        text = found.pop()
        known, used = self.around(function), {}
        for name in self.free(text):
            if name in known:
                used[name] = self.literal(known[name], depth - 1)
            elif not hasattr(builtins, name):
                return None
        if None in used.values():
            return None
        return "(lambda %s: %s)(%s)" % (", ".join(used), text, ", ".join(used.values())) if used else "(%s)" % text

    @staticmethod
    def uses(code):
        """Its arguments, the names that it uses, and its constants: several functions may be in one line."""
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        constants = sorted(repr(one) for one in code.co_consts if not hasattr(one, "co_code") and one is not None)
        return names, sorted({*code.co_names, *code.co_freevars}), constants

    def of_file(self, file):
        if file not in self.trees:
            found = self.trees[file] = {}
            try:
                with open(file, "rb") as stream:
                    nodes = list(ast.walk(ast.parse(stream.read()))) if hasattr(ast, "unparse") else []
            except (OSError, SyntaxError, ValueError, RecursionError):
                nodes = []
            for node in nodes:
                made = self.expression(node)
                if made is not None:
                    found.setdefault(node.lineno, []).append(made)
        return self.trees[file]

    @staticmethod
    def expression(node):
        """The lambda that a node is, or is as good as."""
        if isinstance(node, ast.Lambda):
            return node
        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
        if plain and len(node.body) == 1 and isinstance(node.body[0], ast.Return) and node.body[0].value is not None:
            arguments = (
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            )
            for one in arguments:
                if one is not None:
                    one.annotation = None
            return ast.Lambda(node.args, node.body[0].value)
        return None

    @staticmethod
    def around(function):
        """The variables that the function can see."""
        cells = function.__closure__ or ()
        seen = {}
        for name, cell in zip(function.__code__.co_freevars, cells):
            try:
                seen[name] = cell.cell_contents
            except ValueError:  # not set yet
                continue
        return {**function.__globals__, **seen}

    @staticmethod
    def free(text):
        """The variables that a lambda takes from around it."""
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        return sorted({node.id for node in nodes if isinstance(node, ast.Name)} - own)
