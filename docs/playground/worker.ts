/** The engine: Pyodide with chartkit in it, which answers the page's calls one after the other. */

import { loadPyodide } from "pyodide";
import type { Call, Message, Question } from "./protocol";
import "./re2";
import { unpack } from "./unpack";

/** The folder of the engine's files, next to this script; tools/playground.py names it. */
declare const ENGINE: string;
const FOLDER = new URL(`${ENGINE}/`, import.meta.url).href;
const PAGE = 1 << 16;
const HOME = "/home/pyodide";

type Answer = (call: Call, input: string) => string;
const waiting = new Map<Call, Question>();
let answer: Answer | null = null;

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
  answer = (call, input) => session.answer(call, input) as string;
  const version = python.pyimport("chartkit").__version__ as string;
  send({ ready: true, version, seconds: (performance.now() - started) / 1000 });
}

/** Answer what waits, the newest call of a kind alone. */
function next(): void {
  const [question] = waiting.values();
  if (answer === null || question === undefined) return;
  waiting.delete(question.call);
  try {
    send({ id: question.id, result: JSON.parse(answer(question.call, JSON.stringify(question.input))) });
  } catch (error) {
    // A call answers whatever Python raises: what comes here has left Python in no known state.
    const text = `the page has not enough memory for this, and loads the engine again (${String(error)})`;
    send({ id: question.id, error: text });
    answer = null;
    start();
    return;
  }
  // Messages that have come meanwhile are taken first: they may replace what waits.
  setTimeout(next);
}

self.addEventListener("message", (event: MessageEvent<Question>) => {
  waiting.set(event.data.call, event.data);
  if (waiting.size === 1) setTimeout(next);
});

function start(): void {
  load().then(next, (error: unknown) => send({ failed: String(error) }));
}

start();
