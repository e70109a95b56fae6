// k, the method, the protection of sensitive columns, and the search.
import { ROLES } from "./columns.js";
import { byId, choose, duration, make, option, setText, thousands } from "./dom.js";

const OFF = "";
// Positions of the slider: fine where k is small.
const KS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100];
const TIMES = [10, 30, 60, 300];
const CATEGORIES = {
  mode: "A group gets the category that most of its records have.",
  generalize: "A group with different categories gets *, or what they have in common.",
};

const numberOrNull = (select) => (select.value === OFF || select.disabled ? null : Number(select.value));

const idOf = (constraint) => constraint.name.replaceAll("_", "-");

export class Settings {
  #nRecords = 0;
  #ks = KS;
  #constraints = [];
  #changed;

  constructor(changed) {
    this.#changed = changed;
    byId("time-limit").append(option(OFF, "Off"), ...TIMES.map((time) => option(`${time}`, duration(time))));
    byId("k-slider").addEventListener("input", () => {
      this.k = this.#ks[byId("k-slider").value];
    });
    byId("k").addEventListener("input", () => this.#moveSlider());
    for (const id of ["k", "k-slider", "method", "categories", "weight-release", "time-limit", "shuffle"]) {
      byId(id).addEventListener("input", () => changed());
    }
  }

  show(settings, nRecords, constraints) {
    this.#constraints = constraints;
    byId("constraints").replaceChildren(...constraints.map((constraint) => this.#field(constraint)));
    this.#nRecords = nRecords;
    byId("k").max = nRecords;
    this.#ks = KS.filter((k) => k === 2 || k <= nRecords);
    byId("k-slider").max = this.#ks.length - 1;
    this.k = settings.k;
    byId("method").value = settings.method;
    byId("categories").value = settings.categories;
    byId("weight-release").value = settings.weight_release;
    for (const constraint of constraints) {
      const value = settings.constraints[constraint.name];
      choose(byId(idOf(constraint)), `${value ?? OFF}`, constraint.choice.replace("{}", value));
    }
    choose(byId("time-limit"), `${settings.time_limit ?? OFF}`, duration(settings.time_limit));
    byId("shuffle").checked = settings.shuffle;
  }

  get k() {
    return byId("k").valueAsNumber;
  }

  set k(k) {
    byId("k").value = k;
    this.#moveSlider();
  }

  /** Whether there are groups that a certificate and weights of columns are about. */
  get isKaim() {
    return ["kaim", "disjoint"].includes(byId("method").value);
  }

  /** Whether values become intervals and what a group shares. */
  get generalizes() {
    return byId("method").value !== "aggregate";
  }

  get problem() {
    const isRight = Number.isInteger(this.k) && this.k >= 2 && this.k <= this.#nRecords;
    return isRight ? null : `k must be a whole number from 2 to ${thousands(this.#nRecords)}, the number of rows.`;
  }

  read() {
    return {
      k: this.k,
      method: byId("method").value,
      categories: this.generalizes ? "mode" : byId("categories").value,
      weight_release: byId("weight-release").disabled ? "keep" : byId("weight-release").value,
      constraints: Object.fromEntries(this.#constraints.map((c) => [c.name, numberOrNull(byId(idOf(c)))])),
      time_limit: numberOrNull(byId("time-limit")),
      shuffle: byId("shuffle").checked,
    };
  }

  /** What depends on other settings: sentences, and what cannot be chosen now. */
  update(hasRole) {
    const isWrong = this.problem !== null;
    byId("k").setAttribute("aria-invalid", isWrong);
    const words = `Every combination of the quasi-identifiers in the release stands for at least ${thousands(this.k)} records.`;
    setText(byId("k-words"), isWrong ? this.problem : words);
    for (const item of byId("method-words").children) item.classList.toggle("chosen", item.dataset.method === byId("method").value);
    for (const constraint of this.#constraints) {
      const [id, role] = [idOf(constraint), constraint.needs];
      const isGiven = role === null || hasRole(role);
      const reason = isGiven ? "" : `Give a column the role ${ROLES[role]} first.`;
      byId(id).disabled = reason !== "";
      setText(byId(`${id}-reason`), reason);
    }
    byId("weight-release").disabled = !hasRole("weight");
    setText(byId("weight-release-reason"), hasRole("weight") ? "" : `Give a column the role ${ROLES.weight} first.`);
    byId("time-limit").disabled = byId("method").value === "disjoint";
    byId("categories").disabled = this.generalizes;
    setText(byId("categories-reason"), this.generalizes ? "Generalization always releases what a group shares." : "");
    setText(byId("categories-words"), CATEGORIES[byId("categories").value]);
  }

  /** The field of a constraint, as the server describes it. */
  #field(constraint) {
    const id = idOf(constraint);
    const choices = constraint.choices.map(([value, words]) => option(`${value}`, words));
    const select = make("select", { id, "aria-describedby": `${id}-words ${id}-reason` }, option(OFF, "Off"), ...choices);
    select.addEventListener("input", () => this.#changed());
    const words = make("p", { id: `${id}-words`, class: "note" }, constraint.meaning);
    return make("div", { class: "setting" }, make("label", { for: id }, constraint.label), select, words, make("p", { id: `${id}-reason`, class: "reason" }));
  }

  #moveSlider() {
    if (!Number.isFinite(this.k)) return;
    const above = this.#ks.findIndex((k) => k >= this.k);
    byId("k-slider").value = above < 0 ? this.#ks.length - 1 : above;
    byId("k-slider").setAttribute("aria-valuetext", thousands(this.k));
  }
}
