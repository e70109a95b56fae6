// k, the method, the protection of sensitive columns, and the search.
import { byId, choose, duration, option, setText, thousands } from "./dom.js";

const OFF = "";
// Positions of the slider: fine where k is small.
const KS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100];
const LS = [2, 3, 4, 5, 6, 8, 10];
const TS = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1];
const SHARES = [0.05, 0.1, 0.2, 0.25, 0.33, 0.5];
const TIMES = [10, 30, 60, 300];
const CATEGORIES = {
  mode: "A group gets the category that most of its records have.",
  generalize: "A group with different categories gets *, or what they have in common.",
};

const numberOrNull = (select) => (select.value === OFF || select.disabled ? null : Number(select.value));

export class Settings {
  #nRecords = 0;
  #ks = KS;

  constructor(changed) {
    byId("l").append(option(OFF, "Off"), ...LS.map((l) => option(`${l}`, `At least ${l}`)));
    byId("t").append(option(OFF, "Off"), ...TS.map((t) => option(`${t}`, `At most ${t}`)));
    byId("unit-share").append(option(OFF, "Off"), ...SHARES.map((share) => option(`${share}`, `At most ${share}`)));
    byId("time-limit").append(option(OFF, "Off"), ...TIMES.map((time) => option(`${time}`, duration(time))));
    byId("k-slider").addEventListener("input", () => {
      this.k = this.#ks[byId("k-slider").value];
    });
    byId("k").addEventListener("input", () => this.#moveSlider());
    for (const id of ["k", "k-slider", "method", "categories", "l", "t", "unit-share", "time-limit", "shuffle"]) {
      byId(id).addEventListener("input", () => changed());
    }
  }

  show(settings, nRecords) {
    this.#nRecords = nRecords;
    byId("k").max = nRecords;
    this.#ks = KS.filter((k) => k === 2 || k <= nRecords);
    byId("k-slider").max = this.#ks.length - 1;
    this.k = settings.k;
    byId("method").value = settings.method;
    byId("categories").value = settings.categories;
    choose(byId("l"), `${settings.l ?? OFF}`, `At least ${settings.l}`);
    choose(byId("t"), `${settings.t ?? OFF}`, `At most ${settings.t}`);
    choose(byId("unit-share"), `${settings.unit_share ?? OFF}`, `At most ${settings.unit_share}`);
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

  get isKaim() {
    return byId("method").value === "kaim";
  }

  get problem() {
    const isRight = Number.isInteger(this.k) && this.k >= 2 && this.k <= this.#nRecords;
    return isRight ? null : `k must be a whole number from 2 to ${thousands(this.#nRecords)}, the number of rows.`;
  }

  read() {
    return {
      k: this.k,
      method: byId("method").value,
      categories: this.isKaim ? "mode" : byId("categories").value,
      l: numberOrNull(byId("l")),
      t: numberOrNull(byId("t")),
      unit_share: numberOrNull(byId("unit-share")),
      time_limit: numberOrNull(byId("time-limit")),
      shuffle: byId("shuffle").checked,
    };
  }

  /** What depends on other settings: sentences, and what cannot be chosen now. */
  update(hasSensitive, hasUnit) {
    const isWrong = this.problem !== null;
    byId("k").setAttribute("aria-invalid", isWrong);
    const words = `Every combination of the quasi-identifiers in the release stands for at least ${thousands(this.k)} records.`;
    setText(byId("k-words"), isWrong ? this.problem : words);
    for (const item of byId("method-words").children) item.classList.toggle("chosen", item.dataset.method === byId("method").value);
    const has = { l: [hasSensitive, "Sensitive"], t: [hasSensitive, "Sensitive"], "unit-share": [hasUnit, "Unit"] };
    for (const [id, [isGiven, role]] of Object.entries(has)) {
      const reason = this.isKaim ? "Not with generalization." : isGiven ? "" : `Give a column the role ${role} first.`;
      byId(id).disabled = reason !== "";
      setText(byId(`${id}-reason`), reason);
    }
    byId("categories").disabled = this.isKaim;
    setText(byId("categories-reason"), this.isKaim ? "Generalization always releases what a group shares." : "");
    setText(byId("categories-words"), CATEGORIES[byId("categories").value]);
    const l = byId("l").value || "2";
    setText(byId("l-words"), `Each group has at least ${l} different values of every sensitive column: nobody learns a value for sure.`);
    setText(byId("t-words"), "The sensitive values of each group are distributed nearly as in the whole table. 0 would be exactly so; 1 demands nothing.");
    setText(byId("unit-share-words"), "No person has more than this share of the rows of a group: otherwise a row is that person's more often than 1 in k.");
  }

  #moveSlider() {
    if (!Number.isFinite(this.k)) return;
    const above = this.#ks.findIndex((k) => k >= this.k);
    byId("k-slider").value = above < 0 ? this.#ks.length - 1 : above;
    byId("k-slider").setAttribute("aria-valuetext", thousands(this.k));
  }
}
