/** Links: a state as JSON, deflated, in base64url, after `#1.`; read within limits. */

import { FIELDS, readState, START, type Field, type State, YAML_FIELDS } from "./state";

const VERSION = "1.";
/** The most characters of a fragment, and of the JSON in it. */
export const MOST_CHARACTERS = 100_000;
const MOST_JSON = 1_000_000;

/** A link that cannot be opened; the message is one line for people. */
export class LinkError extends Error {}

/** Return the fragment of a state, without its `#`. */
export async function fragmentOf(state: State): Promise<string> {
  const kept = FIELDS.filter((field) => state[field] !== "" || START[field] !== "");
  const text = JSON.stringify(Object.fromEntries(kept.map((field) => [field, state[field]])));
  const bytes = new Uint8Array(await new Response(
    new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw")),
  ).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const base64 = btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  return VERSION + base64;
}

/** Return the state that a fragment carries. */
export async function stateOf(fragment: string): Promise<State> {
  if (!fragment.startsWith(VERSION)) {
    throw new LinkError("it is not of this page, or of a newer version of it");
  }
  if (fragment.length > MOST_CHARACTERS) {
    throw new LinkError(`it has over ${MOST_CHARACTERS.toLocaleString("en")} characters`);
  }
  let given: unknown;
  try {
    given = JSON.parse(await inflated(fragment.slice(VERSION.length)));
  } catch (error) {
    if (error instanceof LinkError) throw error;
    throw new LinkError("it is cut short or damaged");
  }
  const state = readState(given);
  if (state === null) throw new LinkError("what it carries is not what this page writes");
  return state;
}

async function inflated(base64url: string): Promise<string> {
  const binary = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_JSON) {
      await reader.cancel();
      throw new LinkError("it carries more text than this page takes");
    }
  }
}

/** A key `kind` with the value Secret, or a key or value that only a reader of YAML can tell. */
const SECRET = new RegExp(
  /\bkind\\?["']?\s*:\s*(?:[#>|][^\n]*\n\s*|[!&]\S*\s+)*/.source +
  /(?:\\?["']?Secret(?:List)?\b|\*|"[^"\\\n]*\\)/.source +
  /|"[^"\\\n]*\\[ux][^"\n]*"\s*:/.source,
);

/** Return a state without the documents that hold a Secret, and how many these are. */
export function withoutSecrets(state: State): { state: State; left: number } {
  const kept = { ...state };
  let left = 0;
  for (const field of YAML_FIELDS) {
    const documents = state[field].split(/^(?=---(?:\s|$))/m);
    const harmless = documents.filter((document) => !SECRET.test(document));
    left += documents.length - harmless.length;
    kept[field satisfies Field] = harmless.join("");
  }
  return { state: kept, left };
}
