// SPDX-License-Identifier: MIT
// Only the rows in sight are elements. Names are text, never markup.

const byID = (id) => document.getElementById(id);
const [grid, body, head, player] = ["grid", "rows", "head", "player"].map(byID);

function setText(place, text) { if (place.textContent !== text) place.textContent = text; }

// MARK: Numbers, times and URLs as text

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function size(bytes) {
  if (bytes === undefined) return "?";
  let value = bytes, unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return (unit === 0 ? value : value.toFixed(1)) + " " + units[unit];
}

const rate = (bytes) => bytes > 0 ? size(bytes) + "/s" : "–";
const count = (number, one) => number + " " + one + (number === 1 ? "" : "s");
const near = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  if (past < 60) return "now";
  if (past < 3600) return near.format(-Math.floor(past / 60), "minute");
  if (past < 86400) return near.format(-Math.floor(past / 3600), "hour");
  if (past < 30 * 86400) return near.format(-Math.floor(past / 86400), "day");
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** The last part of a URL's path. */
function nameOf(url) {
  const path = url.split(/[?#]/)[0];
  const parts = path.split("/").filter((part) => part !== "");
  const last = parts.length > 2 ? parts.at(-1) : path;
  try { return decodeURIComponent(last); } catch { return last; }
}

/** The stored share, 0 to 1; undefined while it is unknown. */
function share(row) {
  const length = row.length ?? row.download?.total;
  return length === undefined ? undefined : length === 0 ? 1 : row.stored / length;
}

const parts = (row) => row.parts === undefined ? "?" : count(row.parts, "part");

function percent(row) {
  const part = share(row);
  if (part === undefined) return parts(row);
  // The size of a stream is an estimate.
  return part >= 1 && row.parts === undefined ? "100%" : Math.min(99, Math.floor(part * 100)) + "%";
}

/** What the strip shows, for those who do not see it. */
function label(row) {
  const facts = [(row.parts === undefined ? percent(row) : parts(row)) + " stored"];
  if (row.spans.length > 2) facts.push("in " + count(row.spans.length / 2, "piece"));
  if (row.fetching.length > 0) facts.push("being fetched");
  if (row.readers.length > 0) facts.push(count(row.readers.length, "reader"));
  return facts.join(", ");
}

const isUnderWay = (row) => ["running", "waiting"].includes(row.download?.state);

// MARK: What the proxy has reported

export const rows = new Map();
/** The rows that match the search, in order. */
export let shown = [];
const view = { search: "", sort: "used", descending: true };

const keys = {
  used: (row) => row.readers.length > 0 || row.download ? Infinity : row.used,
  name: (row) => row.name.toLowerCase(),
  type: (row) => row.type ?? "",
  share: (row) => share(row) ?? -1,
  size: (row) => row.length ?? row.stored,
  rate: (row) => row.rate,
};

/** Finds the shown rows: after a change of the rows or of the view. */
export function arrange() {
  const sign = view.descending ? -1 : 1;
  const words = view.search.toLowerCase().split(/\s+/);
  const found = [];
  for (const row of rows.values()) {
    if (words.every((word) => row.text.includes(word))) found.push([keys[view.sort](row), row]);
  }
  found.sort(([x, a], [y, b]) => x === y ? (a.key < b.key ? -1 : 1) : x < y ? -sign : sign);
  shown = found.map(([, row]) => row);
  request();
}

function take({ rows: changed, removed, state }) {
  for (const row of changed) {
    row.name = nameOf(row.url);
    row.text = (row.url + " " + row.name + " " + (row.type ?? "")).toLowerCase();
    rows.set(row.key, row);
  }
  for (const key of removed) rows.delete(key);
  arrange();
  const limit = state.limit === undefined ? "" : " of " + size(state.limit);
  const part = state.requests > 0 ? Math.floor(100 * state.hits / state.requests) : 0;
  setText(byID("disk"), size(state.disk) + limit);
  setText(byID("saved"), size(state.saved));
  setText(byID("hits"), state.hits + " of " + state.requests + " (" + part + "%)");
  setText(byID("received"), state.isOffline ? "offline" : rate(state.received));
  setText(byID("sent"), rate(state.sent));
  const meter = byID("meter");
  meter.hidden = state.limit === undefined;
  meter.value = state.disk / Math.max(1, state.limit ?? 1);
  meter.setAttribute("aria-valuetext", size(state.disk) + limit);
  if (state.problem) say(state.problem, true);
}

/** Follows the proxy: first everything, then what changes. The browser connects again by itself. */
function follow() {
  const source = new EventSource("page/events");
  let isFirst = true;
  source.onopen = () => { isFirst = true; };
  source.onmessage = (event) => {
    if (isFirst) {
      rows.clear();
      say("");
    }
    isFirst = false;
    take(JSON.parse(event.data));
  };
  source.onerror = () => {
    say("The proxy does not respond. If it was stopped, start it again: 'refrain serve'.", true);
    // After an error response the browser does not try again.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
  };
}

export function say(text, isError = false) {
  setText(byID("message"), text);
  byID("message").className = isError ? "error" : "";
}

/** Requests a place of the page. A refusal is its JSON, or the text of who is in between. */
async function ask(place, options) {
  const answer = await fetch("page/" + place, options);
  const text = await answer.text();
  let json;
  try { json = JSON.parse(text); } catch { json = undefined; }
  if (answer.ok && json !== undefined) return json;
  throw new Error(
    json?.error ?? (text.trim().slice(0, 300) || "The proxy responded " + answer.status + "."));
}

/** Does what a person has asked for, and says what came of it. Returns whether it was done. */
async function attempt(work) {
  try {
    say(await work() ?? "");
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
}

/** Asks for a change. */
export const act = (change) => attempt(async () => (await ask("action", {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Refrain-Page": "1" },
  body: JSON.stringify(change),
})).message);

/** Returns the proxy's URL of a URL. */
async function addressOf(url) {
  const { address } = await ask("address?url=" + encodeURIComponent(url));
  return new URL(address, location.origin).href;
}

// MARK: Strips: above, what is stored; below, what is being fetched and where readers are

const names = ["full", "part", "none", "fetch", "reader", "rail"];

/** A pixel is full only if all its bytes are stored. */
function draw(canvas, row, colors) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  const fill = (color, x, y, wide, high) => {
    context.fillStyle = colors[color];
    context.fillRect(x, y, wide, high);
  };
  const lane = Math.round(height * 0.62);
  context.clearRect(0, 0, width, height);
  fill("none", 0, 0, width, lane);
  const { spans, fetching, readers } = row;
  // While the length is unknown, the strip ends with what is known.
  const length = row.length
    || Math.max(1, ...spans.slice(-1), ...fetching.slice(-1), ...readers.slice(-1));
  const x = (offset) => offset * width / length;
  for (const isFull of [false, true]) {
    for (let index = 0; index < spans.length; index += 2) {
      const [start, end] = [x(spans[index]), x(spans[index + 1])];
      const [from, to] = [Math.ceil(start), Math.floor(end)];
      if (isFull && to > from) fill("full", from, 0, to - from, lane);
      if (!isFull && from > start) fill("part", from - 1, 0, 1, lane);
      if (!isFull && end > to) fill("part", to, 0, 1, lane);
    }
  }
  // Shows where the strip ends, whatever is stored.
  fill("rail", 0, lane, width, Math.max(1, Math.round(ratio)));
  for (let index = 0; index < fetching.length; index += 2) {
    const from = x(fetching[index]);
    const wide = Math.max(2 * ratio, x(fetching[index + 1]) - from);
    fill("fetch", from, lane + 2 * ratio, wide, height - lane - 2 * ratio);
  }
  for (const position of readers) {
    const at = Math.min(width - 1, x(position));
    fill("reader", at - ratio, lane - 2 * ratio, 2 * ratio, height - lane + 2 * ratio);
    context.beginPath();
    context.moveTo(at - 4 * ratio, height);
    context.lineTo(at + 4 * ratio, height);
    context.lineTo(at, lane);
    context.fill();
  }
}

// MARK: The list

/** Rows drawn beyond the sight, so that scrolling shows no gaps. */
const margin = 4;
let chosen = null;
let height = 46;
let isDue = false;

const states = { waiting: "waits for its turn", running: "is fetched", paused: "paused" };

function fill(element, row, index) {
  const part = (selector) => element.querySelector(selector);
  const { download } = row;
  const pin = { yes: "pinned", partly: "partly pinned" }[row.pinned];
  const facts = [states[download?.state], pin, URL.parse(row.url)?.host];
  const attributes = {
    id: "row-" + index, title: row.url, "data-key": row.key, "aria-rowindex": index + 2,
    "aria-selected": row.key === chosen,
  };
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.classList.toggle("failed", download?.state === "failed");
  setText(part("b"), row.name);
  setText(part("small"), download?.error ?? facts.filter((fact) => fact).join(", "));
  setText(part(".type"), row.parts === undefined ? row.type ?? "unknown" : "stream");
  setText(part(".stored"), percent(row));
  setText(part(".size"), size(row.length ?? row.stored));
  setText(part(".rate"), rate(row.rate));
  setText(part(".time"), download ? "" : row.readers.length > 0 ? "now" : ago(row.used));
  setText(part("[data-action=fetch]"), isUnderWay(row) ? "Pause" : "Go on");
  for (const button of element.querySelectorAll("button")) button.hidden = !download;
  // The parts of a stream have no place in a row of bytes.
  part("canvas").hidden = row.parts !== undefined;
  part("canvas").setAttribute("aria-label", label(row));
  setText(part(".amount"), row.parts === undefined ? "" : label(row));
}

/** Shows everything as it is now. */
function render() {
  isDue = false;
  const number = shown.length;
  const style = getComputedStyle(grid);
  height = parseFloat(style.getPropertyValue("--row"));
  // Fewer rows than before: the browser scrolls back later.
  const most = Math.max(0, number * height - grid.clientHeight);
  const top = Math.min(most, Math.max(0, grid.scrollTop - head.offsetHeight));
  const first = Math.max(0, Math.floor(top / height) - margin);
  const inSight = shown.slice(first, Math.ceil((top + grid.clientHeight) / height) + margin);
  body.style.height = number * height + "px";
  body.style.paddingTop = first * height + "px";
  grid.setAttribute("aria-rowcount", number + 1);
  const elements = body.children;
  const made = byID("row").content.firstElementChild;
  while (elements.length < inSight.length) body.append(made.cloneNode(true));
  while (elements.length > inSight.length) body.lastElementChild.remove();
  for (const [index, row] of inSight.entries()) fill(elements[index], row, first + index);
  // Measured after all changes: between them it is slow.
  const colors = Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue("--" + name)]));
  for (const [index, row] of inSight.entries()) {
    if (row.parts === undefined) draw(elements[index].querySelector("canvas"), row, colors);
  }
  const active = body.querySelector("[aria-selected=true]");
  if (active) grid.setAttribute("aria-activedescendant", active.id);
  else grid.removeAttribute("aria-activedescendant");
  byID("none").hidden = number > 0;
  setText(byID("empty"), rows.size > 0 ? "No row matches the search."
    : "Nothing is stored yet. Add a URL above, or play one through the proxy.");
  showChosen();
}

/** Renders with the next frame. */
function request() {
  if (!isDue) requestAnimationFrame(render);
  isDue = true;
}

function showChosen() {
  const panel = byID("chosen");
  const row = rows.get(chosen);
  const focused = document.activeElement;
  const button = (action) => panel.querySelector(`[data-action=${action}]`);
  panel.hidden = !row;
  if (row) {
    setText(byID("title"), row.name);
    const length = row.parts === undefined ? " of " + size(row.length) : "";
    const facts = [
      row.url, size(row.stored) + length + ": " + label(row), size(row.disk) + " on disk",
      row.download?.error,
    ];
    setText(byID("facts"), facts.filter((fact) => fact).join(" – "));
    setText(button("pin"), row.pinned === "yes" ? "Unpin" : "Pin");
    button("fetch").hidden = row.download !== undefined || row.length === row.stored;
  }
  // Nobody has to begin at the top of the page again because a button has gone.
  if (panel.contains(focused) && !focused.checkVisibility()) grid.focus({ preventScroll: true });
}

const placeOf = (key) => shown.findIndex((row) => row.key === key);

function choose(row) {
  chosen = row?.key;
  const index = placeOf(chosen);
  const inner = grid.clientHeight - head.offsetHeight;
  if (index >= 0) {
    grid.scrollTop = Math.max(
      (index + 1) * height - inner, Math.min(grid.scrollTop, index * height));
  }
  request();
}

function move(step) {
  const next = Math.max(0, Math.min(shown.length - 1, placeOf(chosen) + step));
  if (shown.length > 0) choose(shown[next]);
}

// MARK: What a person can do

function remove(row) {
  if (row.download) return act({ action: "cancel", key: row.key });
  const dialog = byID("ask");
  setText(byID("question"), "Remove " + row.name + (row.parts === undefined ? "" : " and its parts")
    + " from the cache?" + (row.pinned === "no" ? "" : " It is pinned."));
  dialog.returnValue = "";
  // A dialog that is closed says so later: when it may have been opened again.
  dialog.onclose = async () => {
    if (dialog.open || dialog.returnValue !== "yes") return;
    // Two closings may both be reported after the second one.
    dialog.returnValue = "";
    const index = placeOf(row.key);
    // The row may go before the response arrives.
    const next = shown[index + 1] ?? shown[index - 1];
    if (await act({ action: "remove", key: row.key })) choose(next);
  };
  dialog.showModal();
}

function stop() {
  const isFocused = player.contains(document.activeElement);
  const media = player.querySelector("audio, video");
  media?.pause();
  media?.removeAttribute("src");
  media?.load();
  media?.remove();
  player.hidden = true;
  if (isFocused) grid.focus({ preventScroll: true });
}

/** @param type the content type; undefined while unknown. */
const play = (url, type = "") => attempt(async () => {
  const address = await addressOf(url);
  stop();
  const isSound = type.startsWith("audio/")
    || /\.(mp3|m4a|aac|flac|ogg|oga|opus|wav)([?#]|$)/i.test(url);
  const media = document.createElement(isSound ? "audio" : "video");
  media.controls = true;
  media.setAttribute("aria-label", nameOf(url));
  media.addEventListener("error", () => {
    if (!media.hasAttribute("src")) return;
    say("The browser cannot play this: " + (media.error?.message || "unknown type")
      + ". Copy the proxy URL, and play it with another player, such as mpv.", true);
  });
  setText(byID("playing"), nameOf(url));
  player.prepend(media);
  player.hidden = false;
  media.src = address;
  // A browser may want another click; the controls are there.
  media.play().catch(() => {});
});

function copyByHand(text) {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  if (!isDone) throw new Error("The browser did not copy it. The URL: " + text);
}

const copy = (url) => attempt(async () => {
  const address = await addressOf(url);
  // Only for secure contexts, as this computer's own addresses are.
  if (navigator.clipboard) await navigator.clipboard.writeText(address);
  else copyByHand(address);
  return "Copied " + address;
});

const actions = {
  play: (row) => play(row.url, row.type),
  copy: (row) => copy(row.url),
  pin: (row) => act({ action: row.pinned === "yes" ? "unpin" : "pin", key: row.key }),
  fetch: (row) => act(isUnderWay(row) ? { action: "pause", key: row.key }
    : { action: "add", url: row.url, pin: row.pinned === "yes" }),
  remove,
};
const page = () => Math.max(1, Math.floor(grid.clientHeight / height) - 1);
const moves = {
  ArrowDown: () => 1, ArrowUp: () => -1, PageDown: page, PageUp: () => -page(),
  Home: () => -Infinity, End: () => Infinity,
};
const shortcuts = {
  " ": "play", enter: "play", c: "copy", p: "pin", f: "fetch", delete: "remove",
};

grid.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const row = rows.get(chosen);
  const action = actions[shortcuts[event.key.toLowerCase()]];
  if (moves[event.key]) move(moves[event.key]());
  else if (row && action) action(row);
  else return;
  event.preventDefault();
});

const rowOf = (event) => rows.get(event.target.closest(".row")?.dataset.key);
let pressed;

body.addEventListener("pointerdown", (event) => { pressed = rowOf(event)?.key; });
body.addEventListener("click", (event) => {
  const row = rowOf(event);
  // Another row may have taken its place meanwhile.
  if (!row || row.key !== pressed) return;
  choose(row);
  grid.focus({ preventScroll: true });
  actions[event.target.dataset.action]?.(row);
});
body.addEventListener("dblclick", (event) => {
  const row = rowOf(event);
  if (row && !event.target.dataset.action) actions.play(row);
});
byID("chosen").addEventListener("click", (event) => {
  const row = rows.get(chosen);
  if (row) actions[event.target.dataset.action]?.(row);
});
byID("stop").addEventListener("click", stop);
grid.addEventListener("scroll", request, { passive: true });
new ResizeObserver(request).observe(grid);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", request);
// "3 min. ago" grows without news.
setInterval(request, 30_000);

const url = byID("url");
byID("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await act({ action: "add", url: url.value, pin: byID("pin").checked })) url.value = "";
});
for (const [id, action] of Object.entries({ play, copy })) {
  byID(id).addEventListener("click", () => { if (url.reportValidity()) action(url.value.trim()); });
}

const search = byID("search");
search.addEventListener("input", () => {
  view.search = search.value;
  arrange();
  grid.scrollTop = 0;
  setText(byID("found"), search.value.trim() === "" ? "" : count(shown.length, "row") + " found");
});
search.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
  event.preventDefault();
  grid.focus();
  if (shown.length > 0) choose(shown[0]);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, textarea, dialog")) return;
  event.preventDefault();
  search.focus();
});

function setSort(sort, descending = !["name", "type"].includes(sort)) {
  [view.sort, view.descending, byID("sort").value] = [sort, descending, sort];
  const order = descending ? "descending" : "ascending";
  setText(byID("direction"), descending ? "Descending" : "Ascending");
  for (const column of head.querySelectorAll("[data-sort]")) {
    if (column.dataset.sort === sort) column.setAttribute("aria-sort", order);
    else column.removeAttribute("aria-sort");
  }
  arrange();
}

// The mouse's way; the keyboard's is the field above.
head.addEventListener("click", (event) => {
  const { sort } = event.target.dataset;
  if (sort) setSort(sort, sort === view.sort ? !view.descending : undefined);
});
byID("sort").addEventListener("change", (event) => setSort(event.target.value));
byID("direction").addEventListener("click", () => setSort(view.sort, !view.descending));

setSort(view.sort);
follow();
