/**
 * Python code that runs first and defines the function that runs a cell of code as a notebook does.
 *
 * The code evaluates to that function, which returns whether the cell ended without an exception. A snapshot contains the random
 * state of the process that made it, so the random generator is seeded again.
 */
export const PRELUDE = `
def make_run():
    import ast, importlib, linecache, os, random, sys, traceback, types
    from pyodide.code import CodeRunner
    import pyodide.code

    random.seed()
    # Wheels have been unpacked behind the back of the import system.
    importlib.invalidate_caches()
    for module in (pyodide.code, sys.modules.get("_pyodide._base"), sys.modules.get("_pyodide_core")):
        if module is not None and hasattr(module, "run_js"):
            delattr(module, "run_js")
    # Of Pyodide's own interface only what its event loop and its package loader need is left.
    sys.modules.pop("js", None)
    from pyodide_js import loadedPackages
    from pyodide_js._api import scheduleCallback

    interface = sys.modules["pyodide_js"] = types.ModuleType("pyodide_js")
    interface._api = sys.modules["pyodide_js._api"] = types.ModuleType("pyodide_js._api")
    interface.loadedPackages = loadedPackages
    interface._api.scheduleCallback = scheduleCallback
    interface._api.config = types.SimpleNamespace(enableRunUntilComplete=True)

    def system(command):
        raise OSError(138, "processes are not supported")

    # Pyodide's own would end in an error of JavaScript, and the interpreter with it.
    os.system = sys.modules["posix"].system = system
    os.environ.clear()
    os.environ.update(HOME="/mnt/data", LANG="C.UTF-8", MPLBACKEND="svg")
    os.chdir("/mnt/data")
    namespace = sys.modules["__main__"].__dict__
    cells = 0

    def report(error):
        frames = error.__traceback__
        while frames is not None and not frames.tb_frame.f_code.co_filename.startswith("<cell "):
            frames = frames.tb_next
        sys.stderr.write("".join(traceback.format_exception(type(error), error, frames)))

    async def run(code):
        nonlocal cells
        cells += 1
        name = f"<cell {cells}>"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            runner = CodeRunner(
                code, return_mode="last_expr", filename=name, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            ).compile()
            sys.displayhook(await runner.run_async(namespace))
            return True
        except SystemExit:
            return True
        except BaseException as error:
            report(error)
            return False
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    return run

make_run()
`;
