// Runs the page's Python, which is Pyodide, in node: `compile FOLDER` compiles a folder's modules in
// place of their sources; `snapshot PACK FILE EXAMPLE` writes the memory of an engine that has answered once.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

// Node shows the whole line of a fault, which of Pyodide is a megabyte.
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error?.message ?? error}\n`, () => process.exit(1));
});
const [task, source, target, example] = process.argv.slice(2);
if (task === "compile") {
  const python = await loadPyodide();
  python.mountNodeFS("/packages", source);
  python.runPython(`
import compileall, pathlib, py_compile
# Without docstrings; a file is known by its place in the page.
good = compileall.compile_dir("/packages", quiet=1, legacy=True, optimize=2, stripdir="/packages",
    prependdir="/home/pyodide", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
for file in pathlib.Path("/packages").rglob("*.py"):
    file.unlink()
assert good
`);
} else {
  const { unpack } = await import(process.env["UNPACK"]);
  await import(process.env["RE2"]);
  const python = await loadPyodide({ _makeSnapshot: true });
  unpack(python.FS, gunzipSync(readFileSync(source)), "/home/pyodide");
  const [policies, objects] = readFileSync(example, "utf-8").split("# Objects\n");
  // A proof takes memory, of which an image has the most that there was.
  const calls = { evaluate: { policies, objects }, expression: { expression: "@" }, migrate: {} };
  python.globals.set("calls", JSON.stringify(calls));
  python.runPython(`
import gc, json
from chartkit.addons.playground import session
for call, given in json.loads(calls).items():
    answered = json.loads(session.answer(call, json.dumps(given)))
    if "error" in answered:
        raise RuntimeError(answered["error"])
del calls, call, given, answered
gc.collect()
`);
  writeFileSync(target, gzipSync(python.makeMemorySnapshot(), { level: 6 }));
}
