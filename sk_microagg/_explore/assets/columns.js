// The columns of the table: what they are, and what becomes of them.
import { byId, counted, make, nameElement, option, setText, short, thousands } from "./dom.js";
import { sketch } from "./draw.js";

export const ROLES = {
  quasi_identifier: "Quasi-identifier",
  sensitive: "Sensitive",
  unit: "Unit",
  stratum: "Stratum",
  weight: "Weight",
  keep: "Keep",
  drop: "Drop",
};
// What may be said of a kind that was chosen.
const DETAILS = {
  ordinal: { label: "Order", example: "low<medium<high" },
  date: { label: "Pattern", example: "%d/%m/%Y" },
};
// Roles of columns whose values are read, so that their kind must be clear.
const READ = ["quasi_identifier", "sensitive"];
// Roles of columns that are left out of the release.
const LEFT_OUT = ["unit", "drop"];
const KINDS = ["number", "category", "date", "ordinal"];
const COUNTS = {
  quasi_identifier: "quasi-identifier",
  sensitive: "sensitive",
  unit: "unit",
  stratum: "stratum",
  weight: "weight",
  keep: "kept",
  drop: "dropped",
};
const MANY = 16;

const isRight = (weight) => weight.valueAsNumber > 0;
const upper = (word) => word.charAt(0).toUpperCase() + word.slice(1);

function labeled(label, name, control) {
  return make("label", { class: "field" }, make("span", { class: "label" }, label), make("span", { class: "hidden" }, ` of ${short(name)}`), control);
}

/** Ask for what belongs to a kind, if anything does. */
function updateDetail(detail, kind, name) {
  const { label, example } = DETAILS[kind] ?? { label: "", example: "" };
  detail.hidden = label === "";
  detail.setAttribute("aria-label", `${label} of the values of ${short(name)}`);
  detail.placeholder = example;
}

function control(tag, name, ...children) {
  return make(tag, { name }, ...children);
}

export class Columns {
  #items = [];
  #changed;

  /** `changed` is called after each change of a user. */
  constructor(changed) {
    this.#changed = changed;
    byId("all-role").append(...Object.entries(ROLES).map(([value, words]) => option(value, words)));
    byId("column-filter").addEventListener("input", () => this.#filter());
    byId("all-role-apply").addEventListener("click", () => this.#setAllShown());
  }

  show(columns, settings) {
    this.#items = columns.map((column, i) => this.#item(column, i, settings.columns[i]));
    byId("columns").replaceChildren(...this.#items.map((item) => item.row));
    byId("columns").classList.toggle("many", columns.length > MANY);
    byId("column-tools").hidden = columns.length <= MANY;
    byId("column-filter").value = "";
  }

  /** One object per column, as the server wants them. */
  read(isKaim) {
    return this.#items.map(({ role, kind, detail, weight }) => ({
      role: role.value,
      kind: kind.value === "" ? null : kind.value,
      detail: kind.value in DETAILS ? detail.value : null,
      weight: isKaim || role.value !== "quasi_identifier" ? 1 : weight.valueAsNumber,
    }));
  }

  has(wanted) {
    return this.#items.some(({ role }) => role.value === wanted);
  }

  /** Why the columns cannot be anonymized as they are, or null. */
  problem(isKaim) {
    const read = this.#items.filter(({ role }) => READ.includes(role.value));
    const unclear = read.find(({ problem, kind }) => problem && kind.value === "");
    if (unclear) return `It is not clear what ${short(unclear.name)} is: choose its kind above, or give it the role Drop.`;
    const wrong = this.#items.find(({ role, weight }) => !isKaim && role.value === "quasi_identifier" && !isRight(weight));
    if (wrong) return `The weight of ${short(wrong.name)} must be a number above 0.`;
    for (const one of ["unit", "weight"]) {
      const those = this.#items.filter(({ role }) => role.value === one);
      const words = those.map(({ name }) => short(name)).join(" and ");
      if (those.length > 1) return `Only one column can be the ${one}, but ${words} are.`;
    }
    const weighted = this.#items.find(({ role }) => byId("method").value === "kaim" && role.value === "weight");
    return weighted ? `With generalization, no column can be a weight: give ${short(weighted.name)} another role.` : null;
  }

  /** What depends on the method and on other columns. */
  update(isKaim) {
    for (const { name, row, role, kind, detail, weight, problem, hint, kindHint } of this.#items) {
      row.dataset.role = role.value;
      updateDetail(detail, kind.value, name);
      const isWeighted = role.value === "quasi_identifier" && !isKaim;
      weight.disabled = !isWeighted;
      weight.setAttribute("aria-invalid", isWeighted && !isRight(weight));
      if (hint) hint.hidden = LEFT_OUT.includes(role.value);
      if (kindHint) kindHint.hidden = kind.value !== "" || LEFT_OUT.includes(role.value);
      if (problem) problem.hidden = kind.value !== "" || !READ.includes(role.value);
    }
    const roles = this.#items.map(({ role }) => role.value);
    const counts = Object.entries(COUNTS).map(([role, words]) => {
      const n = roles.filter((one) => one === role).length;
      return n === 0 ? "" : role === "quasi_identifier" ? counted(n, words) : `${thousands(n)} ${words}`;
    });
    setText(byId("column-counts"), `${counted(roles.length, "column")}: ${counts.filter(Boolean).join(", ")}.`);
    byId("weight-note").hidden = isKaim;
  }

  #item(column, i, settings) {
    const { name } = column;
    const kind = control("select", "kind", option("", `Auto: ${column.kind}`), ...KINDS.map((one) => option(one, upper(one))));
    const role = control("select", "role", ...Object.entries(ROLES).map(([value, words]) => option(value, words)));
    const weight = control("input", "weight");
    weight.type = "number";
    weight.min = "0";
    weight.step = "any";
    const detail = control("input", "detail");
    detail.spellcheck = false;
    detail.autocomplete = "off";
    [kind.value, role.value, weight.value, detail.value] = [settings.kind ?? "", settings.role, settings.weight, settings.detail ?? ""];
    const problem = column.problem ? make("p", { class: "problem" }, column.problem) : null;
    const hint = column.hint ? make("p", { class: "hint" }, column.hint) : null;
    const kindHint = column.hint_at_kind ? make("p", { class: "hint" }, column.hint_at_kind) : null;
    const row = make(
      "li",
      { "data-column": i },
      make("div", { class: "what" }, nameElement(name), make("span", { class: "note" }, column.recognized ?? "")),
      sketch(name, column.distribution),
      make("div", { class: "values note" }, make("span", {}, `${thousands(column.n_distinct)} distinct`), make("span", {}, `missing: ${column.missing}`)),
      make("div", {}, labeled("Kind", name, kind), detail),
      labeled("Role", name, role),
      labeled("Weight", name, weight),
      problem,
      hint,
      kindHint,
    );
    for (const one of [kind, detail, role, weight]) one.addEventListener("input", () => this.#changed());
    return { name, row, kind, detail, role, weight, problem, hint, kindHint };
  }

  #filter() {
    const wanted = byId("column-filter").value.trim().toLowerCase();
    for (const { name, row } of this.#items) row.hidden = !name.toLowerCase().includes(wanted);
    const nShown = this.#items.filter(({ row }) => !row.hidden).length;
    setText(byId("all-role-apply"), nShown === this.#items.length ? "Apply" : `Apply to ${counted(nShown, "column")}`);
  }

  #setAllShown() {
    for (const { row, role } of this.#items) if (!row.hidden) role.value = byId("all-role").value;
    this.#changed();
  }
}
