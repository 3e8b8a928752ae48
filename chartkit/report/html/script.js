"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const findings = [...document.querySelectorAll(".finding")];
  const rules = [...document.querySelectorAll(".rule")];
  const shown = document.getElementById("shown");
  const chosen = ["severity", "place", "kind", "state"];
  const texts = new WeakMap();
  const textOf = (finding) => {
    if (!texts.has(finding)) {
      const rule = finding.closest(".rule").querySelector("summary");
      texts.set(finding, `${rule.textContent} ${finding.textContent}`.toLowerCase());
    }
    return texts.get(finding);
  };
  const filter = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const wanted = chosen.map((name) => [name, form.elements[name].value]);
    let count = 0;
    for (const finding of findings) {
      const fits = wanted.every(([name, value]) => value === "*" || finding.dataset[name] === value)
        && (!text || textOf(finding).includes(text));
      finding.hidden = !fits;
      count += fits;
    }
    for (const rule of rules) rule.hidden = !rule.querySelector(".finding:not([hidden])");
    shown.textContent = String(count);
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
