"""Loads new source into a running process, in place: other modules hold references to the existing objects.

When a repair stays inside one function, only that function is compiled and its live objects get the new code, which
takes a millisecond. Otherwise the module is run again, its functions get the new code and its classes the new
attributes.
"""

import ast
import contextlib
import functools
import gc
import os
import sys
import types


def loader(texts, after, edits):
    """A function that loads the new texts when called; None when one of them is not Python."""
    try:
        loads = []
        for path, text in after.items():
            own = [edit for edit in edits if edit[0] == path]
            loads.append(swap(path, texts[path], text, own) or rerun(path, text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return lambda: [load() for load in loads]


def rerun(path, text):
    full = os.path.abspath(path)
    code = compile(text, full, "exec", dont_inherit=True)

    def load():
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == full:
                renew(module, code)

    return load


def swap(path, before, after, edits):
    """New code for one live function; None when the edits are not inside one function's body."""
    full = os.path.abspath(path)
    function, owners = holder(path, before, edits)
    if function is None:
        return None
    first = min([function.lineno] + [decorator.lineno for decorator in function.decorator_list])
    live = live_functions().get((full, first), ())
    within = range(first + 1, function.end_lineno + 1)
    if not live or any(name == full and line in within for name, line in live_functions()):
        return None  # not made by now, or with functions in it that were made of the old code
    grown = sum(len(lines) - (end - start + 1) for _, start, end, lines in edits)
    code = function_code(after.split("\n")[first - 1 : function.end_lineno + grown], first, function.name, owners, full)
    if code is None or any(code.co_freevars != one.__code__.co_freevars for one in live):
        return None

    def load():
        for one in live:
            one.__code__ = code

    return load


@functools.lru_cache(maxsize=None)
def live_functions():
    """(file, first line) -> functions made of that code, as they are after collection."""
    found = {}
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType:
            found.setdefault((thing.__code__.co_filename, thing.__code__.co_firstlineno), []).append(thing)
    return found


@functools.lru_cache(maxsize=None)
def functions_of(path, text):
    """Functions of a module and of its classes, with the names of those classes."""
    found, queue = [], [(node, ()) for node in ast.parse(text).body]
    while queue:
        node, owners = queue.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node, owners))
        else:
            inside = owners + (node.name,) if isinstance(node, ast.ClassDef) else owners
            queue += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


def holder(path, text, edits):
    """The function whose body holds all edits, and its classes."""
    for function, owners in functions_of(path, text):
        start, end = function.body[0].lineno, getattr(function, "end_lineno", 0)
        if all(start <= edit[1] <= end + 1 and edit[2] <= end for edit in edits):
            return function, owners
    return None, ()


def function_code(lines, first, name, owners, full):
    """The code object of a function compiled alone, on the lines it stands on, as a method where it is one."""
    heads = [" " * depth + "class %s:" % owner for depth, owner in enumerate(owners)]
    if not owners and lines[0][:1].isspace():
        heads = ["if 1:"]
    if first - 1 < len(heads):
        return None
    source = "\n" * (first - 1 - len(heads)) + "\n".join(heads + lines) + "\n"
    code = compile(source, full, "exec", dont_inherit=True)
    for step in owners + (name,):
        code = next((c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == step), None)
        if code is None:
            return None
    return code


def renew(module, code):
    """Run the new source in the module and put the old objects, renewed, back where others may hold them."""
    old = dict(module.__dict__)
    for name in [name for name in old if not name.startswith("__")]:
        del module.__dict__[name]
    exec(code, module.__dict__)
    for name, value in old.items():
        if isinstance(value, types.ModuleType):
            module.__dict__.setdefault(name, value)  # a package's submodules
    for name, value in list(module.__dict__.items()):
        was = old.get(name)
        if was is None or was is value or not all(own(thing, module) for thing in (was, value)):
            continue
        if isinstance(was, type) and isinstance(value, type):
            renew_class(was, value)
            module.__dict__[name] = was
        elif renew_function(was, value):
            module.__dict__[name] = was
        else:
            replace(was, value)


def own(thing, module):
    return getattr(thing, "__module__", None) == module.__name__


def replace(was, value):
    """Other modules that imported the old object by name get the new one."""
    for other in list(sys.modules.values()):
        space = getattr(other, "__dict__", None)
        if isinstance(space, dict):
            for name in [name for name, held in list(space.items()) if held is was]:
                space[name] = value


def renew_class(was, new):
    for name, value in list(vars(new).items()):
        if name in ("__dict__", "__weakref__", "__module__", "__doc__", "__slots__"):
            continue
        if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            continue  # a slot belongs to the class it was made for
        held = vars(was).get(name)
        if isinstance(held, type) and isinstance(value, type) and held.__qualname__ == value.__qualname__:
            renew_class(held, value)
            continue
        if not renew_function(held, value):
            own_class(value, was, new)
            set_quietly(was, name, value)
    for name in [name for name in vars(was) if name not in vars(new)]:
        if isinstance(vars(was)[name], (types.FunctionType, classmethod, staticmethod, property)):
            delattr(was, name)


def set_quietly(owner, name, value):
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        setattr(owner, name, value)


def own_class(value, was, new):
    """`super()` in a new method means the class that other modules know."""
    for function in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
        for cell in getattr(function, "__closure__", None) or ():
            try:
                if cell.cell_contents is new:
                    cell.cell_contents = was
            except ValueError:
                continue


def renew_function(was, new):
    """Give the old function the new one's code; returns whether that was possible."""
    if isinstance(was, (classmethod, staticmethod)) and type(was) is type(new):
        return renew_function(was.__func__, new.__func__)
    if not isinstance(was, types.FunctionType) or not isinstance(new, types.FunctionType):
        return False
    if was.__code__.co_freevars != new.__code__.co_freevars or hasattr(was, "__wrapped__") or extra(was, new):
        return False
    was.__code__, was.__defaults__, was.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    return True


def extra(was, new):
    """A wrapper made by a decorator: its code is the decorator's, what matters is in its closure."""
    cells = list((was.__closure__ or ()))
    return any(name != "__class__" for name in was.__code__.co_freevars) and bool(cells)
