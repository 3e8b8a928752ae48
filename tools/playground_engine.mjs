// Runs the page's Python, which is Pyodide, in node: `compile FOLDER` compiles a folder's modules in
// place of their sources; `snapshot PACK FILE` writes the memory of an engine that has answered once.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

// Node shows the whole line of a fault, which of Pyodide is a megabyte.
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error?.message ?? error}\n`, () => process.exit(1));
});
const [task, source, target] = process.argv.slice(2);
if (task === "compile") {
  const python = await loadPyodide();
  python.mountNodeFS("/packages", source);
  python.runPython(`
import compileall, pathlib, py_compile
# A file is known by its place in the page.
good = compileall.compile_dir("/packages", quiet=1, legacy=True, stripdir="/packages",
    prependdir="/home/pyodide", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
for file in pathlib.Path("/packages").rglob("*.py"):
    file.unlink()
assert good
`);
} else {
  const { unpack } = await import(process.env["UNPACK"]);
  const python = await loadPyodide({ _makeSnapshot: true });
  unpack(python.FS, gunzipSync(readFileSync(source)), "/home/pyodide");
  python.runPython("from chartkit.addons.playground import warm_up; warm_up.run()");
  writeFileSync(target, gzipSync(python.makeMemorySnapshot(), { level: 9 }));
}
