/** The tab of expressions: the value of each part, which its editor shows on focus. */

import { byId, debounced, element } from "./dom";
import type { Editor } from "./editor";
import type { Engine, Result } from "./engine";
import { code, problemList, problemMarks } from "./parts";

const PAUSE = 20;

export class Expressions {
  /** Ask again once typing has paused. */
  readonly changed = debounced(PAUSE, () => this.ask());
  private readonly summary = byId("expressions-summary");
  private readonly results = byId("expressions-results");

  constructor(
    private readonly engine: Engine,
    private readonly editors: Record<"expression" | "data", Editor>,
    private readonly language: HTMLSelectElement,
  ) {}

  private ask(): void {
    const { expression, data } = this.editors;
    const input = { language: this.language.value, expression: expression.text, data: data.text };
    this.engine.ask("expression", input, this.summary, (result) => this.show(result));
  }

  private show({ value, type, parts, problems }: Result<"expression">): void {
    this.editors.expression.mark(problemMarks(problems, "expression"));
    this.editors.data.mark(problemMarks(problems, "data"));
    this.summary.textContent = value === null ? "No value." : `A value of type ${type ?? "unknown"}.`;
    this.summary.className = `summary ${value === null && problems.length ? "bad" : ""}`;
    this.results.replaceChildren(
      ...problemList(problems, this.editors),
      ...(value === null ? [] : [code(value, "Value")]),
      ...(parts.length ? [element("h3", {}, "Parts")] : []),
      element("ul", { class: "parts" }, ...parts.map((part) => this.part(part))),
    );
  }

  private part({ text, start, end, value, error }: Result<"expression">["parts"][number]): HTMLElement {
    const show = (): void => this.editors.expression.highlight(start, end);
    const hide = (): void => this.editors.expression.highlight();
    return element(
      "li", { tabindex: "0", mouseenter: show, focus: show, mouseleave: hide, blur: hide },
      element("code", {}, text),
      element("span", { class: error ? "bad" : "value" }, error ?? value ?? "no value"),
    );
  }
}
