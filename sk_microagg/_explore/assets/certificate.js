// How good is this? A proof that narrows the gap between the loss and the smallest loss possible.
import { Job } from "./api.js";
import { byId, counted, makeSvg, percent, setText, switchButtons } from "./dom.js";
import { canvas, pathOf, picture, redraw, text } from "./draw.js";

const HEIGHT = 200;

// Rounded down, it is still a bound.
const bounded = (share) => percent(Math.floor(10000 * share) / 10000);

export class Certificate {
  #ticks = [];
  #loss = 0;
  #seconds = 10;
  #k = 2;
  #settings;

  /** `settings` returns what the preview on the page was made with. */
  constructor(settings) {
    this.#settings = settings;
    this.job = new Job("certificate", {
      running: (event) => this.#run(event.tick),
      done: (result) => this.#done(result),
      failed: (error) => this.#stop(error),
      canceled: () => this.#stop(this.#ticks.length ? `Canceled. Until then: ${this.#ticks.at(-1).words}.` : "Canceled."),
    });
    byId("certificate-start").addEventListener("click", () => this.#start());
    byId("certificate-cancel").addEventListener("click", () => this.job.cancel());
    picture(byId("certificate-picture"), HEIGHT, (width) => this.#draw(width));
  }

  /** The proof of other settings is worth nothing. */
  clear() {
    if (this.job.isBusy) this.job.cancel();
    this.#ticks = [];
    byId("certificate-picture").hidden = byId("certificate-note").hidden = true;
    setText(byId("certificate-words"), "");
  }

  /** `reason`: why there can be no proof now, or "". */
  update(reason) {
    byId("certificate-start").disabled = reason !== "";
    byId("certificate-seconds").disabled = reason !== "";
    setText(byId("certificate-reason"), reason);
  }

  #start() {
    this.clear();
    this.#seconds = Number(byId("certificate-seconds").value);
    setText(byId("certificate-words"), "Proving…");
    const used = this.#settings();
    this.#k = used.k;
    this.job.start({ ...used, certificate: this.#seconds });
  }

  #run(tick) {
    switchButtons(byId("certificate-cancel"), byId("certificate-start"));
    if (!tick) return;
    this.#ticks.push(tick);
    this.#loss = tick.loss;
    setText(byId("certificate-words"), `Information loss ${percent(tick.loss)}; no groups can lose less than ${bounded(tick.bound)}: ${tick.words}.`);
    this.#show();
  }

  #done(result) {
    const last = { seconds: Math.max(this.#ticks.at(-1)?.seconds ?? 0, 0.1), bound: result.bound };
    this.#ticks.push(last);
    this.#loss = result.loss;
    const sample = result.is_sample ? " This is proven for the sample." : "";
    const why = `no groups of at least ${counted(this.#k, "record")} can lose less than ${bounded(result.bound)}, and these lose ${percent(result.loss)}`;
    this.#stop(`${result.verdict}: ${why}.${sample}`);
    this.#show();
  }

  #stop(words) {
    switchButtons(byId("certificate-start"), byId("certificate-cancel"));
    setText(byId("certificate-words"), words.charAt(0).toUpperCase() + words.slice(1));
  }

  #show() {
    byId("certificate-picture").hidden = byId("certificate-note").hidden = false;
    redraw(byId("certificate-picture"));
  }

  #draw(width) {
    if (this.#ticks.length === 0) return;
    const bound = this.#ticks.at(-1).bound;
    const svg = canvas(width, HEIGHT, `The information loss is ${percent(this.#loss)}, and the proven bound has risen to ${bounded(bound)}. The optimum lies between them.`);
    const [left, right, top, bottom] = [32, width - 8, 26, HEIGHT - 24];
    const latest = Math.max(this.#seconds, this.#ticks.at(-1).seconds);
    const x = (seconds) => left + ((right - left) * seconds) / latest;
    const y = (share) => bottom - ((bottom - top) * share) / (this.#loss || 1);
    const risen = this.#ticks.map((tick) => [x(tick.seconds), y(Math.max(0, tick.bound))]);
    const [endX, endY] = risen.at(-1);
    const line = [[left, bottom], ...risen];
    svg.append(
      makeSvg("path", { class: "gap", d: `${pathOf([...line, [endX, y(this.#loss)], [left, y(this.#loss)]])}Z` }),
      makeSvg("path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` }),
      makeSvg("path", { class: "loss", d: `M${left},${y(this.#loss)}H${right}` }),
      makeSvg("path", { class: "bound", d: pathOf(line) }),
      makeSvg("circle", { class: "bound-end", cx: endX, cy: endY, r: 4 }),
      text(left, top - 9, `information loss ${percent(this.#loss)}`),
      text(right, bottom - 10, `proven bound ${bounded(bound)}`, { class: "bound-text", "text-anchor": "end" }),
      text(left - 8, bottom + 4, "0%", { "text-anchor": "end" }),
      text(right, HEIGHT - 6, `${Math.round(latest)} seconds`, { "text-anchor": "end" }),
    );
    byId("certificate-picture").replaceChildren(svg);
  }
}
