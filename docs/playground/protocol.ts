/** What the page and the worker that runs the engine say to each other. Lines and columns are from 1. */

export type Status = "pass" | "fail" | "warn" | "error" | "skip";
export interface Place { line: number; column: number }
export interface Span extends Place { length: number }

/** Something wrong with an input, or to be known of it; line 0: with all of it. */
export interface Problem {
  input: string; line: number; column: number; message: string; hint: string;
  level: "error" | "warning" | "note";
}

/** A decision as `chartkit why -o json` has it: `LINE:COLUMN` in `location` (of the policy) and
 * `fieldLocation` (of the object) stand after the input's name and a colon. */
export interface Why {
  text: string; asked?: string; holds?: boolean | null; value?: unknown; location?: string;
  field?: string; fieldLocation?: string; parts?: Why[];
}
export interface Row {
  policy: string; rule: string; kind: string; name: string; namespace: string;
  status: Status; message: string; object: Span | null; rule_at: Place | null; why: Why | null;
}
export interface Mutated { kind: string; name: string; namespace: string; before: string; after: string; diff: string }
export interface Generated { policy: string; rule: string; kind: string; name: string; yaml: string }
export interface Evaluation { rows: Row[]; mutated: Mutated[]; generated: Generated[]; problems: Problem[] }
export interface EvaluationInput {
  policies: string; objects: string; exceptions: string; old: string;
  operation: string; user: string; groups: string[];
  namespace_labels: Record<string, Record<string, string>>;
}
export interface Migration {
  text: string;
  verdict: { state: "equal" | "differs" | "undecided" | "unproved" | "none"; text: string; requests: number };
  counterexamples: { text: string; request: string; old: string; new: string }[];
  notes: { rule: string; text: string }[];
  problems: Problem[];
}

/** start, end: offsets in the expression, in characters. */
export interface Part { text: string; start: number; end: number; value: string | null; error: string | null }
export interface Expression { value: string | null; type: string | null; parts: Part[]; problems: Problem[] }
export interface LibraryEntry {
  name: string; title: string; category: string; summary: string; policy: string; objects: string;
  groups: string[];
}

export interface Calls {
  evaluate: { input: EvaluationInput; result: Evaluation };
  migrate: { input: { policy: string }; result: Migration };
  expression: { input: { language: string; expression: string; data: string }; result: Expression };
  library: { input: Record<string, never>; result: { entries: LibraryEntry[] } };
}
export type Call = keyof Calls;
export interface Question { id: number; call: Call; input: object }
/** at: the number of the object that is judged from now on; an input can leave some out (`left_out`). */
export type Message =
  | { ready: true; version: string; seconds: number }
  | { failed: string }
  | { id: number; at: number }
  | { id: number; result: object }
  | { id: number; error: string };

/** The file of the worker; tools/playground.py names it. */
declare const WORKER: string;

/** Start the worker. It is imported by a script of this page and so has the page's content security
 * policy, where one of a URL would have that of its response alone, which may have none. */
export function startWorker(): Worker {
  const script = `import ${JSON.stringify(new URL(WORKER, document.baseURI).href)};`;
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return new Worker(address, { type: "module" });
}
