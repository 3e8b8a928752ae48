/** RE2 for the page's Python, whose module `re2` (`stand_ins/re2.py`) asks `chartkitRe2`: RE2JS, which has
 * RE2's syntax, its matches and its time in proportion to the text. */

import { RE2JS } from "re2js";

/** The options of a pattern: none, `(?i)`, or POSIX's syntax in place of Perl's. */
type Options = "" | "i" | "posix";
interface Compiler { compileImpl(pattern: string, mode: number, isLongest: boolean): unknown }
const KEPT = 1_000;
const POSIX = 0;
const compiled = new Map<string, RE2JS>();

/** Answer in JSON: without a text what a pattern is, or why it is refused; else the places of the groups
 * of its matches, in characters: of the `first`, of `all`, or of the one of the `whole` text. */
function chartkitRe2(pattern: string, options: Options, text?: string, wanted?: "first" | "all" | "whole"): string {
  if (text !== undefined) return JSON.stringify(matches(regexOf(pattern, options), text, wanted));
  try {
    const regex = regexOf(pattern, options);
    return JSON.stringify({ size: regex.programSize(), groups: regex.groupCount(), names: regex.namedGroups() });
  } catch (error) {
    return JSON.stringify({ error: error instanceof RangeError ? "pattern too large - compile failed" : String(error) });
  }
}

function regexOf(pattern: string, options: Options): RE2JS {
  const key = `${options}/${pattern}`;
  let regex = compiled.get(key);
  if (regex === undefined) {
    if (compiled.size >= KEPT) compiled.clear();
    regex = RE2JS.compile(options === "posix" ? "" : pattern, options === "i" ? RE2JS.CASE_INSENSITIVE : 0);
    if (options === "posix") {
      const { compileImpl } = regex.re2().constructor as unknown as Compiler;
      Object.assign(regex, { re2Input: compileImpl(pattern, POSIX, false) });
    }
    compiled.set(key, regex);
  }
  return regex;
}

function matches(regex: RE2JS, text: string, wanted = "first"): number[][] {
  const matcher = regex.matcher(text);
  const inCharacters = counted(text);
  const groups = Array.from({ length: 2 * matcher.groupCount() + 2 }, (_, at) => at);
  const places = () =>
    groups.map((at) => inCharacters(at % 2 ? matcher.end(at >> 1) : matcher.start(at >> 1)));
  if (wanted === "whole") return matcher.matches() ? [places()] : [];
  const found = [];
  while (matcher.find()) {
    found.push(places());
    if (wanted === "first") break;
  }
  return found;
}

/** Return what makes a place in characters of one of JavaScript, which counts a character above U+FFFF twice. */
function counted(text: string): (at: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return (at) => at;
  const numbers = new Int32Array(text.length + 1);
  let at = 0, number = 0;
  for (const character of text) {
    numbers.fill(number++, at, at += character.length);
  }
  numbers[at] = number;
  return (place) => place < 0 ? place : numbers[place] ?? number;
}

Object.assign(globalThis, { chartkitRe2 });
