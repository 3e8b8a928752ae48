/** All that a link carries: the contents of the page's fields, each a text. */

import { CLUSTER_POLICY, EXPRESSIONS, OBJECTS, POD, POLICY } from "./examples";

export const TABS = ["evaluate", "migrate", "expressions", "library"] as const;
const CHOICES: Record<string, readonly string[]> = {
  tab: TABS,
  operation: ["CREATE", "UPDATE", "DELETE"],
  language: ["jmespath", "cel"],
};

/** What the page shows before anything is typed. */
export const START = {
  tab: "evaluate",
  policies: POLICY,
  objects: OBJECTS,
  exceptions: "",
  old: "",
  operation: "CREATE",
  user: "",
  groups: "",
  namespaces: "",
  policy: CLUSTER_POLICY,
  language: "jmespath",
  expression: EXPRESSIONS["jmespath"] ?? "",
  data: POD,
};

export type State = typeof START;
export type Field = keyof State;
export const FIELDS = Object.keys(START) as Field[];

/** The fields with objects, among which there can be Secrets. */
export const YAML_FIELDS: readonly Field[] = [
  "policies", "objects", "exceptions", "old", "policy", "data",
];

/** Return a state from what somebody else wrote; null for anything that is not one. */
export function readState(given: unknown): State | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const values = new Map<string, unknown>(Object.entries(given));
  const state = { ...START };
  for (const field of FIELDS) {
    const value = values.get(field) ?? START[field];
    if (typeof value !== "string" || CHOICES[field]?.includes(value) === false) return null;
    state[field] = value;
  }
  return state;
}

/** Return labels by namespace of lines as `shop: team=blue, tier=front`, or what is wrong. */
export function readNamespaces(text: string): Record<string, Record<string, string>> | string {
  const namespaces = new Map<string, Record<string, string>>();
  for (const line of text.split("\n").map((each) => each.trim()).filter(Boolean)) {
    const [, name, labels] = /^([a-z0-9.-]+)\s*:(.*)$/.exec(line) ?? [];
    if (name === undefined || labels === undefined) {
      return `“${line.slice(0, 60)}” is not of the form NAMESPACE: LABEL=VALUE, LABEL=VALUE`;
    }
    const pairs = labels.split(",").map((each) => each.trim()).filter(Boolean);
    const wrong = pairs.find((pair) => !/^[^\s=]+\s*=\s*[^\s=]*$/.test(pair));
    if (wrong !== undefined) return `“${wrong.slice(0, 60)}” is not of the form LABEL=VALUE`;
    const read = pairs.map((pair) => pair.split("=").map((each) => each.trim()));
    namespaces.set(name, Object.fromEntries(read));
  }
  return Object.fromEntries(namespaces);
}
