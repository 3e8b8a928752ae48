/** The engine: Pyodide with chartkit in it, which answers one call of the page after the other. */

import { loadPyodide } from "pyodide";
import type { Call, Message, Question } from "./protocol";
import "./re2";
import { unpack } from "./unpack";

/** The folder of the engine's files, next to this script; tools/playground.py names it. */
declare const ENGINE: string;
const FOLDER = new URL(`${ENGINE}/`, import.meta.url).href;
const PAGE = 1 << 16;
const HOME = "/home/pyodide";

type Answer = (call: Call, input: string, step: (at: number) => void) => string;

function send(message: Message): void {
  self.postMessage(message);
}

/** Return the content of a compressed file. */
async function content(name: string): Promise<Uint8Array> {
  const response = await fetch(FOLDER + name);
  if (!response.ok || !response.body) throw new Error(`${name} cannot be read (${response.status})`);
  const plain = response.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Have Python's memory as large as an image of it is: Pyodide copies the image, and grows nothing. */
function growTo(image: Promise<Uint8Array>): void {
  const instantiate = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (...given) => {
    const made = await instantiate(...given);
    const memory = made.instance.exports["memory"];
    if (memory instanceof WebAssembly.Memory) {
      const missing = (await image).length - memory.buffer.byteLength;
      memory.grow(Math.max(0, Math.ceil(missing / PAGE)));
    }
    return made;
  };
}

async function load(): Promise<void> {
  const started = performance.now();
  const pack = content("chartkit.pack.gz");
  const image = content("memory.gz");
  growTo(image);
  const python = await loadPyodide({
    indexURL: FOLDER,
    stdLibURL: `${FOLDER}python_stdlib.zip`,
    _loadSnapshot: image,
  } as Parameters<typeof loadPyodide>[0]);
  unpack(python.FS, await pack, HOME);
  const session = python.pyimport("chartkit.addons.playground.session");
  const answer = session.answer as Answer;
  self.addEventListener("message", ({ data: { id, call, input } }: MessageEvent<Question>) => {
    try {
      const text = answer(call, JSON.stringify(input), (at) => send({ id, at }));
      send({ id, result: JSON.parse(text) });
    } catch (error) {
      // A call answers whatever Python raises: what comes here has left Python in no known state.
      send({ id, error: `The page had not enough memory for this (${String(error)}).` });
    }
  });
  const version = python.pyimport("chartkit").__version__ as string;
  send({ ready: true, version, seconds: (performance.now() - started) / 1000 });
}

load().catch((error: unknown) => send({ failed: String(error) }));
