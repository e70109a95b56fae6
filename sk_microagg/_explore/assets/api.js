// Requests to the server, the stream of its events, and jobs that run there.

const MOST_SECONDS_TO_END = 8;

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Each tab is a page of its own: closing it ends its work only.
const PAGE = randomId();

class RequestError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function request(address, options) {
  let answer;
  try {
    answer = await fetch(address, { cache: "no-store", ...options });
  } catch {
    throw new RequestError("sk-microagg does not answer.", 0);
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new RequestError(content.error ?? `sk-microagg answered with error ${answer.status}.`, answer.status);
  return content;
}

export const getTable = () => request("api/table");

export function post(name, content = {}) {
  return request(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
}

/** Open the stream of events. `handlers` has open(), event(event) and broken(isEnded); returns a function that closes it. */
export function openEvents(handlers) {
  const source = new EventSource(`api/events?page=${PAGE}`);
  const end = (isEnded) => {
    source.close();
    handlers.broken(isEnded);
  };
  source.onopen = () => handlers.open();
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.what !== "server") handlers.event(event);
    else if (event.state === "ended") end(true);
  };
  // The server ends all work of a page whose stream closes: to reconnect silently would wait for nothing.
  source.onerror = () => end(false);
  return () => source.close();
}

/**
 * One kind of work on the server.
 *
 * Events do not say which job they belong to. So a new job of a kind begins only after the last event of the old one:
 * whatever arrives in between is of the old one, and is ignored.
 */
export class Job {
  #what;
  #handlers;
  #settings = null; // of the job on the server
  #next = null; // of the job that waits for its end
  #isEnding = false;
  #nLate = 0; // jobs that were given up before their last event came
  #timer = 0;
  #begun = Promise.resolve();

  /** `handlers` has running(event), done(result, settings), failed(error, settings, status) and canceled(). */
  constructor(what, handlers) {
    this.#what = what;
    this.#handlers = handlers;
  }

  get isBusy() {
    return this.#next !== null || (this.#settings !== null && !this.#isEnding);
  }

  start(settings) {
    this.#next = settings;
    this.#handlers.running({ share: null, seconds_left: null });
    if (this.#settings === null) this.#begin();
    else this.#end();
  }

  cancel() {
    const wasWaiting = this.#next !== null;
    this.#next = null;
    if (this.#settings !== null) this.#end();
    else if (wasWaiting) this.#handlers.canceled();
  }

  /** The stream has ended, and with it the work. */
  forget() {
    clearTimeout(this.#timer);
    const wasKnown = this.#settings !== null || this.#next !== null;
    this.#settings = this.#next = null;
    this.#isEnding = false;
    this.#nLate = 0;
    if (wasKnown) this.#handlers.canceled();
  }

  receive(event) {
    if (this.#settings === null) return;
    if (event.state === "running") {
      if (!this.#isEnding) this.#handlers.running(event);
    } else if (event.state === "canceled" && !this.#isEnding && this.#nLate > 0) {
      this.#nLate -= 1;
    } else {
      this.#finish(event);
    }
  }

  #begin() {
    const settings = this.#next;
    [this.#settings, this.#next] = [settings, null];
    this.#begun = post("start", { page: PAGE, what: this.#what, settings }).catch((error) => {
      if (this.#settings === settings) this.#finish({ state: "failed", error: error.message, status: error.status });
    });
  }

  async #end() {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const settings = this.#settings;
    await this.#begun; // a cancel must not overtake its start
    if (this.#settings !== settings) return;
    post("cancel", { page: PAGE, what: this.#what }).catch(() => {});
    this.#timer = setTimeout(() => {
      this.#nLate += 1;
      this.#finish({ state: "canceled" });
    }, 1000 * MOST_SECONDS_TO_END);
  }

  #finish(event) {
    clearTimeout(this.#timer);
    const settings = this.#settings;
    this.#settings = null;
    this.#isEnding = false;
    if (this.#next !== null) this.#begin();
    else if (event.state === "done") this.#handlers.done(event.result, settings);
    else if (event.state === "failed") this.#handlers.failed(event.error, settings, event.status);
    else this.#handlers.canceled();
  }
}
