/** Parts that several tabs show: problems, the tree of a decision, differences, code. */

import { element } from "./dom";
import type { Editor, Mark } from "./editor";
import type { Place, Problem, Why } from "./protocol";

const MOST_NODES = 400;
const MOST_LINES = 2000;
const LEVELS = { error: "error", warning: "warning", note: "info" } as const;

/** A button that leads to a place in an editor. */
export function placeButton(label: string, place: Place, editor: Editor): HTMLButtonElement {
  const go = (): void => editor.goTo(place.line, place.column);
  return element("button", { type: "button", class: "place", click: go }, label);
}

/** Problems of inputs as a list; editors: where the places are, by the name of the input. */
export function problemList(
  problems: readonly Problem[], editors: Readonly<Record<string, Editor>>,
): HTMLElement[] {
  if (!problems.length) return [];
  const items = problems.map((problem) => {
    const editor = editors[problem.input];
    const { input, line, level, message, hint } = problem;
    return element(
      "li", { class: "result" },
      badge(level), " ",
      editor && line ? placeButton(`${input}, line ${line}`, problem, editor) : `${input}: `,
      element("span", { class: "message" }, message), hint ? ` (${hint})` : "",
    );
  });
  return [element("ul", { class: "results" }, ...items)];
}

/** Problems as marks of the editor of an input. */
export function problemMarks(problems: readonly Problem[], input: string): Mark[] {
  return problems
    .filter((problem) => problem.input === input && problem.line)
    .map(({ line, column, message, level }) => ({ line, column, level: LEVELS[level], text: message }));
}

/** A word that has the colour of what it says. */
export function badge(word: string): HTMLElement {
  return element("span", { class: `badge ${word}` }, word);
}

/** What decided a result, with its parts below it; they are made when it is opened. */
export function whyTree(why: Why, isOpen: boolean, toggled: (isOpen: boolean) => void): HTMLElement {
  const made = element("details", { class: "why" }, element("summary", {}, "Why"));
  made.addEventListener("toggle", () => {
    toggled(made.open);
    if (made.open && made.childElementCount === 1) made.append(...nodes([why], { left: MOST_NODES }));
  });
  made.open = isOpen;
  return made;
}

function nodes(parts: readonly Why[], budget: { left: number }): HTMLElement[] {
  const shown = parts.slice(0, Math.max(0, budget.left));
  budget.left -= shown.length;
  const items = shown.map((part) => {
    const holds = part.holds ?? null;
    const mark = holds === null ? "?" : holds ? "✓" : "✗";
    const words = holds === null ? "undecided" : holds ? "holds" : "does not hold";
    const head = [
      element("span", { class: `holds ${words.replace(/ /g, "-")}`, role: "img", "aria-label": words }, mark),
      ` ${part.text}`,
    ];
    const below = part.parts?.filter((inner) => inner.text !== part.text || inner.parts?.length);
    if (!below?.length) return element("li", {}, ...head);
    const details = element("details", { open: holds !== true }, element("summary", {}, ...head));
    details.append(...nodes(below, budget));
    return element("li", {}, details);
  });
  if (shown.length < parts.length) items.push(element("li", {}, "… and more"));
  return items.length ? [element("ul", {}, ...items)] : [];
}

/** A unified diff, what is added and removed in colours. */
export function diffOf(text: string, label: string): HTMLElement {
  const lines = text.split("\n").slice(0, MOST_LINES).map((line) => {
    const kind = /^(\+\+\+|---|@@)/.test(line) ? "hunk" : line.startsWith("+") ? "added" :
      line.startsWith("-") ? "removed" : "same";
    return element("span", { class: kind }, `${line}\n`);
  });
  return element("pre", { tabindex: "0", role: "group", "aria-label": label }, ...lines);
}

/** A text in a font of fixed width, with a title. */
export function code(text: string, label: string): HTMLElement {
  return element("pre", { tabindex: "0", role: "group", "aria-label": label }, text);
}
