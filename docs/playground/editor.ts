/** Editors of YAML: CodeMirror in a shadow root, whose styles need no inline style element. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine, keymap,
  lineNumbers, WidgetType,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** What to say at a place; lines and columns count from 1, columns and lengths in characters. */
export interface Mark {
  line: number;
  column: number;
  length?: number;
  level: "error" | "warning" | "info";
  text: string;
}

const MOST_MARKS = 200;

export class Editor {
  private readonly view: EditorView;

  constructor(host: HTMLElement, text: string, change?: () => void) {
    const root = host.attachShadow({ mode: "open" });
    const label = host.dataset["label"] ?? "";
    const state = EditorState.create({
      doc: text,
      extensions: [
        SETUP,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        change ? EditorView.updateListener.of((update) => update.docChanged && change()) :
          EditorState.readOnly.of(true),
        host.dataset["field"] === "expression" ? EditorView.lineWrapping : yaml(),
      ],
    });
    this.view = new EditorView({ state, parent: root, root });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replace the text; undo brings the old one back. */
  set text(text: string) {
    const { doc } = this.view.state;
    if (doc.toString() === text) return;
    this.view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
  }

  /** Show marks in place of those before: underlined, listed by F8, and told at the line's end. */
  mark(marks: readonly Mark[]): void {
    const { doc } = this.view.state;
    const shown = marks.slice(0, MOST_MARKS).map((mark): Diagnostic => {
      const from = offset(doc, mark.line, mark.column);
      const to = Math.min(doc.lineAt(from).to, from + (mark.length ?? 1));
      return { from, to, severity: mark.level, message: mark.text };
    });
    this.view.dispatch(setDiagnostics(this.view.state, shown));
    const byLine = new Map<number, Diagnostic[]>();
    for (const each of shown) {
      const { number } = doc.lineAt(each.from);
      byLine.set(number, [...(byLine.get(number) ?? []), each]);
    }
    const decorations = [...byLine].flatMap(([number, found]) => {
      const line = doc.line(number);
      const level = found.some((each) => each.severity === "error") ? "error" :
        found.some((each) => each.severity === "warning") ? "warning" : "info";
      return [
        Decoration.line({ class: `cm-line-${level}` }).range(line.from),
        Decoration.widget({ widget: new Note(level, found), side: 1 }).range(line.to),
      ];
    });
    this.decorate(Decoration.set(decorations, true));
  }

  /** Highlight what is between two offsets, or nothing. */
  highlight(from = 0, end = 0): void {
    const to = Math.min(end, this.view.state.doc.length);
    this.decorate(from < to ? Decoration.set(HIGHLIGHT.range(from, to)) : Decoration.none);
  }

  /** Go to a place, and show it. */
  goTo(line: number, column: number): void {
    const anchor = offset(this.view.state.doc, line, column);
    this.view.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    this.view.focus();
  }

  private decorate(decorations: DecorationSet): void {
    this.view.dispatch({ effects: SET_DECORATIONS.of(decorations) });
  }
}

/** Return the offset of a place, the nearest one where the text has changed since. */
function offset(doc: Text, line: number, column: number): number {
  const at = doc.line(Math.max(1, Math.min(line, doc.lines)));
  return at.from + utf16(at.text, column - 1);
}

/** Return the index in UTF-16 of a character's number, at most the text's length. */
function utf16(text: string, characters: number): number {
  const count = Math.max(0, characters);
  return [...text.slice(0, 2 * count)].slice(0, count).join("").length;
}

/** What is wrong with a line, at its end. */
class Note extends WidgetType {
  constructor(private readonly level: string, private readonly found: readonly Diagnostic[]) {
    super();
  }

  override eq(other: Note): boolean {
    return this.text === other.text && this.level === other.level;
  }

  override toDOM(): HTMLElement {
    const note = document.createElement("span");
    note.className = `cm-note cm-note-${this.level}`;
    note.textContent = this.text;
    return note;
  }

  private get text(): string {
    const more = this.found.length > 1 ? ` (and ${this.found.length - 1} more)` : "";
    return `${(this.found[0]?.message ?? "").split("\n", 1)[0] ?? ""}${more}`;
  }
}

const HIGHLIGHT = Decoration.mark({ class: "cm-part" });
const SET_DECORATIONS = StateEffect.define<DecorationSet>();
const DECORATIONS = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (decorations, transaction) =>
    transaction.effects.find((each) => each.is(SET_DECORATIONS))?.value ??
    decorations.map(transaction.changes),
  provide: (field) => EditorView.decorations.from(field),
});

/** Escape lets Tab leave the editor, until another key is pressed. */
const LEAVING = EditorView.domEventHandlers({
  keydown: (event, view) => {
    if (event.key === "Escape") view.setTabFocusMode(true);
    else if (event.key !== "Tab" && event.key !== "Shift") view.setTabFocusMode(false);
  },
  blur: (_event, view) => view.setTabFocusMode(false),
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text-value)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)" },
  { tag: [tags.keyword, tags.atom, tags.number, tags.bool], color: "var(--word)" },
]);

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--back)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--link)", outlineOffset: "-2px" },
  ".cm-scroller": { font: "13.5px/1.5 ui-monospace, SFMono-Regular, Menlo, monospace" },
  ".cm-content": { caretColor: "var(--text)", minHeight: "3em" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--panel)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine:not(.cm-line-error)": { backgroundColor: "color-mix(in srgb, var(--link) 7%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "color-mix(in srgb, var(--link) 25%, transparent)" },
  ".cm-line-error": { backgroundColor: "var(--bad-back)" },
  ".cm-line-warning": { backgroundColor: "var(--warn-back)" },
  ".cm-lintRange": { backgroundImage: "none", paddingBottom: "0" },
  ".cm-lintRange-error": { borderBottom: "2px solid var(--bad)" },
  ".cm-lintRange-warning": { borderBottom: "2px solid var(--warn)" },
  ".cm-lintRange-info": { borderBottom: "2px solid var(--link)" },
  ".cm-lintPoint": { display: "none" },
  ".cm-note": { paddingLeft: "2em", fontFamily: "system-ui, sans-serif", fontSize: ".9em" },
  ".cm-note-error": { color: "var(--bad)" },
  ".cm-note-warning": { color: "var(--warn)" },
  ".cm-note-info": { color: "var(--muted)" },
  ".cm-part": { backgroundColor: "var(--mark)", outline: "1px solid var(--warn)" },
  ".cm-tooltip, .cm-panels": {
    color: "var(--text)", backgroundColor: "var(--panel)", border: "1px solid var(--line)",
  },
  ".cm-tooltip-lint": { maxWidth: "min(36em, 85vw)" },
  ".cm-textfield, .cm-button": {
    color: "var(--text)", background: "var(--back)", border: "1px solid var(--line)",
  },
});

const SETUP: Extension = [
  lineNumbers(),
  foldGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  syntaxHighlighting(COLOURS),
  DECORATIONS,
  LEAVING,
  THEME,
  keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
];
