/** The page: its fields, its tabs, its links, and the engine that answers. */

import { byId } from "./dom";
import { Editor } from "./editor";
import { Engine } from "./engine";
import { Evaluation } from "./evaluate";
import { EXPRESSIONS } from "./examples";
import { Expressions } from "./expressions";
import { Library } from "./library";
import { LinkError, stateOf } from "./link";
import { Migration } from "./migrate";
import { offerLinks } from "./share";
import { type Field, FIELDS, START, type State, TABS } from "./state";
import { tabs } from "./tabs";
import { offerThemes } from "./theme";

type Tab = (typeof TABS)[number];
type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const fields = new Map<Field, Editor | Input>();
const engine = new Engine(({ text, hasFailed, isBusy }) => {
  byId("engine").textContent = text;
  byId("stop").hidden = !isBusy;
  if (hasFailed) notify(text);
});
byId("stop").addEventListener("click", () => engine.restart());

let tab: Tab = "evaluate";
const changed: Record<Tab, () => void> = {
  evaluate: () => evaluation.changed(),
  migrate: () => migration.changed(),
  expressions: () => expressions.changed(),
  library: () => library.open(),
};

for (const host of document.querySelectorAll<HTMLElement>("[data-field]")) {
  const field = host.dataset["field"] as Field;
  const change = (): void => changed[tab]();
  if (host.classList.contains("editor")) {
    fields.set(field, new Editor(host, START[field], change));
  } else {
    host.addEventListener("input", change);
    fields.set(field, host as Input);
  }
}

function editor(field: Field): Editor {
  return fields.get(field) as Editor;
}

function read(): State {
  const state: State = { ...START, tab };
  for (const [field, source] of fields) {
    state[field] = source instanceof Editor ? source.text : source.value;
  }
  return state;
}

function write(state: State): void {
  for (const field of FIELDS) {
    const target = fields.get(field);
    if (target instanceof Editor) target.text = state[field];
    else if (target) target.value = state[field];
  }
  const isMore = state.exceptions || state.old || state.user || state.groups || state.namespaces;
  byId<HTMLDetailsElement>("more").open = Boolean(isMore) || state.operation !== START.operation;
  select(state.tab as Tab);
}

function notify(text: string): void {
  byId("notice").textContent = text;
  byId("notice").hidden = text === "";
}

const select = tabs(TABS, (name) => {
  tab = name;
  changed[name]();
});
const evaluation = new Evaluation(engine, {
  policies: editor("policies"),
  objects: editor("objects"),
  exceptions: editor("exceptions"),
  old: editor("old"),
}, read);
const migration = new Migration(
  engine, editor("policy"), new Editor(byId("replacement"), ""),
  (policies) => write({ ...read(), tab: "evaluate", policies }),
);
const language = fields.get("language") as HTMLSelectElement;
const expressions = new Expressions(
  engine, { expression: editor("expression"), data: editor("data") }, language,
);
const library = new Library(engine, ({ policy, objects }) => {
  const { exceptions, old, operation, user, groups, namespaces } = START;
  const circumstances = { exceptions, old, operation, user, groups, namespaces };
  write({ ...read(), ...circumstances, tab: "evaluate", policies: policy, objects });
  byId("tab-evaluate").focus();
  window.scrollTo(0, 0);
});
language.addEventListener("input", () => {
  const { expression } = read();
  const isExample = Object.values(EXPRESSIONS).includes(expression);
  if (isExample) editor("expression").text = EXPRESSIONS[language.value] ?? expression;
});

/** Open what the address carries: a state, or the name of a tab. */
async function open(): Promise<void> {
  const fragment = location.hash.slice(1);
  const name = TABS.find((each) => each === fragment);
  try {
    if (name !== undefined) select(name);
    else write(fragment ? await stateOf(fragment) : read());
    if (fragment) notify("");
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    notify(`This link cannot be opened: ${error.message}.`);
    select(tab);
  }
}

offerThemes();
offerLinks(read);
window.addEventListener("hashchange", () => void open());
void open();
