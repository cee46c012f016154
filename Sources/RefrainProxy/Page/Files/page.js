// SPDX-License-Identifier: MIT
// Only the rows in sight are elements. Names are text, never markup.

const byID = (id) => document.getElementById(id);
const [grid, body, head] = [byID("grid"), byID("rows"), byID("head")];

function element(tag, style, text) {
  const made = document.createElement(tag);
  if (style) made.className = style;
  if (text !== undefined) made.textContent = text;
  return made;
}

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

/** The stored share, 0 to 1; null while it is unknown. */
function share(row) {
  const length = row.length ?? row.download?.total;
  if (length === undefined) return null;
  return length === 0 ? 1 : row.stored / length;
}

function percent(row) {
  const part = share(row);
  if (part === null) return row.parts === undefined ? "?" : count(row.parts, "part");
  // The size of a stream is an estimate.
  return part >= 1 && row.parts === undefined ? "100%" : Math.min(99, Math.floor(part * 100)) + "%";
}

/** What the strip shows, for those who do not see it. */
function label(row) {
  const facts = [row.parts === undefined ? percent(row) : count(row.parts, "part")];
  facts[0] += " stored";
  if (row.spans.length > 2) facts.push("in " + count(row.spans.length / 2, "piece"));
  if (row.fetching.length > 0) facts.push("being fetched");
  if (row.readers.length > 0) facts.push(count(row.readers.length, "reader"));
  return facts.join(", ");
}

// MARK: What the proxy has reported

export const rows = new Map();
/** The rows that are shown, in order, and the place of each. */
export let shown = [];
let places = new Map();
const view = { search: "", sort: "used", descending: true };

const keys = {
  used: (row) => row.readers.length > 0 || row.download ? Infinity : row.used,
  name: (row) => row.name.toLowerCase(),
  type: (row) => row.type ?? "",
  share: (row) => share(row) ?? -1,
  size: (row) => row.length ?? row.stored,
  rate: (row) => row.rate,
};

/** Finds the shown rows again: after a change of the view, or of what it depends on. */
export function arrange() {
  const sign = view.descending ? -1 : 1;
  const words = view.search.toLowerCase().split(/\s+/);
  const found = [];
  for (const row of rows.values()) {
    if (words.every((word) => row.text.includes(word))) found.push([keys[view.sort](row), row]);
  }
  found.sort(([x, a], [y, b]) => x === y ? (a.key < b.key ? -1 : 1) : x < y ? -sign : sign);
  shown = found.map(([, row]) => row);
  places = new Map(shown.map((row, index) => [row.key, index]));
  request();
}

/** Adopts rows. Their order is found again only if it may have changed. */
export function take(part) {
  const key = keys[view.sort];
  let isOther = false;
  for (const row of part.rows) {
    const old = rows.get(row.key);
    row.name = nameOf(row.url);
    row.text = (row.url + " " + row.name + " " + (row.type ?? "")).toLowerCase();
    rows.set(row.key, row);
    if (old && old.text === row.text && key(old) === key(row)) {
      if (places.has(row.key)) shown[places.get(row.key)] = row;
    } else {
      isOther = true;
    }
  }
  for (const gone of part.removed) isOther = rows.delete(gone) || isOther;
  if (isOther) arrange();
  showFigures(part.state);
  request();
}

function showFigures(state) {
  const limit = state.limit === undefined ? "" : " of " + size(state.limit);
  setText(byID("disk"), size(state.disk) + limit);
  setText(byID("saved"), size(state.saved));
  const part = state.requests > 0 ? Math.floor(100 * state.hits / state.requests) : 0;
  setText(byID("hits"), state.hits + " of " + state.requests + " (" + part + "%)");
  setText(byID("received"), state.isOffline ? "offline" : rate(state.received));
  setText(byID("sent"), rate(state.sent));
  const meter = byID("meter");
  meter.hidden = state.limit === undefined;
  if (!meter.hidden) {
    meter.max = Math.max(1, state.limit);
    meter.high = meter.max * 0.95;
    meter.value = state.disk;
    meter.setAttribute("aria-valuetext", size(state.disk) + limit);
  }
  if (state.problem) say(state.problem, true);
}

/** Follows the proxy: first everything, then what changes. The browser connects again by itself. */
function follow() {
  const source = new EventSource("page/events");
  let late = [];
  source.onopen = async () => {
    late = [];
    const early = late;
    try {
      const all = await read(await fetch("page/state"));
      if (early !== late) return;
      rows.clear();
      shown = [];
      late = null;
      say("");
      take(all);
      arrange();
      for (const part of early) take(part);
    } catch (error) {
      say(error.message, true);
      source.close();
      setTimeout(follow, 3000);
    }
  };
  source.onmessage = (event) => {
    const part = JSON.parse(event.data);
    if (late) late.push(part); else take(part);
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

/** A refusal is JSON of the page, or the text of who is in between. */
async function read(answer) {
  const text = await answer.text();
  let json;
  try { json = JSON.parse(text); } catch { json = undefined; }
  if (answer.ok && json !== undefined) return json;
  throw new Error(
    json?.error ?? (text.trim().slice(0, 300) || "The proxy responded " + answer.status + "."));
}

/** Asks for a change. Returns whether it was made; the person is informed either way. */
export async function act(change) {
  try {
    const answer = await fetch("page/action", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Refrain-Page": "1" },
      body: JSON.stringify(change),
    });
    say((await read(answer)).message);
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
}

/** Calls `use` with the proxy's URL of a URL. */
async function withAddress(url, use) {
  try {
    const answer = await fetch("page/address?url=" + encodeURIComponent(url));
    await use(new URL((await read(answer)).address, location.origin).href);
  } catch (error) {
    say(error.message, true);
  }
}

// MARK: Strips: above, what is stored; below, what is being fetched and where readers are

const names = ["full", "part", "none", "fetch", "reader", "rail"];
let colors = null;

function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
}

/** A pixel is full only if all its bytes are stored. */
function draw(canvas, row, box) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(box.width * ratio));
  const height = Math.max(1, Math.round(box.height * ratio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  colors ??= palette();
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
/** The elements in use, by the row's key, and those that wait for use. */
const used = new Map();
const spare = [];
let chosen = null;
let height = 46;
let isDue = false;
/** The size of every strip, measured once: measuring between changes is slow. */
let box = null;

const states = { waiting: "waits for its turn", running: "is fetched", paused: "paused" };

function make() {
  const row = element("div", "row");
  row.setAttribute("role", "row");
  const item = { row, shown: null };
  for (const [index, part] of
    ["name", "type", "strip", "stored", "size", "rate", "used"].entries()) {
    item[part] = element("span", part);
    item[part].setAttribute("role", "gridcell");
    item[part].setAttribute("aria-colindex", index + 1);
    row.append(item[part]);
  }
  item.title = element("b");
  item.place = element("small");
  item.name.append(item.title, item.place);
  item.canvas = element("canvas");
  item.canvas.setAttribute("role", "img");
  item.amount = element("span");
  item.strip.append(item.canvas, item.amount);
  item.time = element("span");
  item.used.append(item.time);
  for (const action of ["fetch", "remove"]) {
    item[action] = element("button");
    item[action].dataset.action = action;
    // By keyboard: the keys of the list.
    item[action].tabIndex = -1;
    item.used.append(item[action]);
  }
  return item;
}

function fill(item, row, index) {
  item.row.style.transform = `translateY(${index * height}px)`;
  item.row.setAttribute("aria-rowindex", index + 2);
  item.row.setAttribute("aria-selected", String(row.key === chosen));
  item.row.id = "row-" + index;
  setText(item.time, row.download ? "" : row.readers.length > 0 ? "now" : ago(row.used));
  if (item.shown === row) return;
  item.shown = row;
  item.row.dataset.key = row.key;
  item.row.title = row.url;
  const { download } = row;
  const pin = { yes: "pinned", partly: "partly pinned" }[row.pinned];
  const facts = [states[download?.state], pin, URL.parse(row.url)?.host];
  item.row.classList.toggle("failed", download?.state === "failed");
  setText(item.title, row.name);
  setText(item.place, download?.error ?? facts.filter((fact) => fact).join(", "));
  setText(item.type, row.parts === undefined ? row.type ?? "unknown" : "stream");
  setText(item.stored, percent(row));
  setText(item.size, size(row.length ?? row.stored));
  setText(item.rate, rate(row.rate));
  const isUnderWay = download?.state === "running" || download?.state === "waiting";
  item.fetch.hidden = item.remove.hidden = !download;
  setText(item.fetch, isUnderWay ? "Pause" : "Go on");
  setText(item.remove, "Cancel");
  // The parts of a stream have no place in a row of bytes.
  item.canvas.hidden = row.parts !== undefined;
  setText(item.amount, row.parts === undefined ? "" : label(row));
  if (item.canvas.hidden) return;
  item.canvas.setAttribute("aria-label", label(row));
  box ??= { width: item.canvas.clientWidth, height: item.canvas.clientHeight };
  draw(item.canvas, row, box);
}

function paint() {
  isDue = false;
  const number = shown.length;
  height = parseFloat(getComputedStyle(grid).getPropertyValue("--row"));
  body.style.height = number * height + "px";
  grid.setAttribute("aria-rowcount", number + 1);
  // Fewer rows than before: the browser scrolls back later.
  const most = Math.max(0, number * height - grid.clientHeight);
  const top = Math.min(most, Math.max(0, grid.scrollTop - head.offsetHeight));
  const first = Math.max(0, Math.floor(top / height) - margin);
  const inSight = shown.slice(first, Math.ceil((top + grid.clientHeight) / height) + margin);
  const wanted = new Set(inSight.map((row) => row.key));
  for (const [key, item] of used) {
    if (wanted.has(key)) continue;
    used.delete(key);
    item.row.remove();
    spare.push(item);
  }
  for (const [index, row] of inSight.entries()) {
    const item = used.get(row.key) ?? spare.pop() ?? make();
    used.set(row.key, item);
    // Readers of screens follow the order of the elements.
    const place = body.children[index];
    if (place !== item.row) body.insertBefore(item.row, place ?? null);
    fill(item, row, first + index);
  }
  spare.length = Math.min(spare.length, 60);
  const active = used.get(chosen)?.row.id;
  if (active) grid.setAttribute("aria-activedescendant", active);
  else grid.removeAttribute("aria-activedescendant");
  byID("none").hidden = number > 0;
  setText(byID("empty"), rows.size > 0 ? "No row matches the search."
    : "Nothing is stored yet. Add a URL above, or play one through the proxy.");
  showChosen();
}

/** Paints with the next frame. */
function request() {
  if (!isDue) requestAnimationFrame(paint);
  isDue = true;
}

function repaint() {
  [box, colors] = [null, null];
  for (const [, item] of used) item.shown = null;
  request();
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

function choose(key) {
  chosen = key;
  const index = places.get(key);
  if (index !== undefined) {
    const inner = grid.clientHeight - head.offsetHeight;
    if (index * height < grid.scrollTop) grid.scrollTop = index * height;
    const end = (index + 1) * height - inner;
    if (end > grid.scrollTop) grid.scrollTop = end;
  }
  request();
}

function move(step) {
  const next = Math.min(shown.length - 1, Math.max(0, (places.get(chosen) ?? -1) + step));
  if (shown.length > 0) choose(shown[next].key);
}

// MARK: What a person can do

function remove(row) {
  if (row.download) return act({ action: "cancel", key: row.key });
  const ask = byID("ask");
  setText(byID("question"), "Remove " + row.name + (row.parts === undefined ? "" : " and its parts")
    + " from the cache?" + (row.pinned === "no" ? "" : " It is pinned."));
  ask.returnValue = "";
  // A dialog that is closed says so later: when it may have been opened again.
  ask.onclose = () => { if (!ask.open && ask.returnValue === "yes") removeAtOnce(row); };
  ask.showModal();
}

async function removeAtOnce(row) {
  const index = places.get(row.key);
  // The row may go before the response arrives.
  const next = shown[index + 1] ?? shown[index - 1];
  if (await act({ action: "remove", key: row.key }) && next) choose(next.key);
}

function stop() {
  const panel = byID("player");
  const isFocused = panel.contains(document.activeElement);
  const media = panel.querySelector("audio, video");
  media?.pause();
  media?.removeAttribute("src");
  media?.load();
  panel.replaceChildren();
  panel.hidden = true;
  if (isFocused) grid.focus({ preventScroll: true });
}

/** @param type the content type; undefined while unknown. */
function play(url, type = "") {
  return withAddress(url, (address) => {
    stop();
    const isSound = type.startsWith("audio/")
      || /\.(mp3|m4a|aac|flac|ogg|oga|opus|wav)([?#]|$)/i.test(url);
    const media = element(isSound ? "audio" : "video");
    media.controls = true;
    media.setAttribute("aria-label", nameOf(url));
    media.addEventListener("error", () => {
      if (!media.hasAttribute("src")) return;
      say("The browser cannot play this: " + (media.error?.message || "unknown type")
        + ". Copy the proxy URL, and play it with another player, such as mpv.", true);
    });
    const end = element("button", "", "Stop");
    end.addEventListener("click", stop);
    byID("player").append(media, element("span", "", nameOf(url)), end);
    byID("player").hidden = false;
    media.src = address;
    say("");
    // A browser may want another click; the controls are there.
    media.play().catch(() => {});
  });
}

function copyByHand(text) {
  const focused = document.activeElement;
  const field = element("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  if (!isDone) throw new Error("The browser did not copy it. The URL: " + text);
}

function copy(url) {
  return withAddress(url, async (address) => {
    // Only for secure contexts, as this computer's own addresses are.
    if (navigator.clipboard) await navigator.clipboard.writeText(address);
    else copyByHand(address);
    say("Copied " + address);
  });
}

const actions = {
  play: (row) => play(row.url, row.type),
  copy: (row) => copy(row.url),
  pin: (row) => act({ action: row.pinned === "yes" ? "unpin" : "pin", key: row.key }),
  fetch: (row) => ["running", "waiting"].includes(row.download?.state)
    ? act({ action: "pause", key: row.key })
    : act({ action: "add", url: row.url, pin: row.pinned === "yes" }),
  remove,
};
const page = () => Math.max(1, Math.floor(grid.clientHeight / height) - 1);
const moves = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()),
  PageUp: () => move(-page()), Home: () => move(-Infinity), End: () => move(Infinity),
};
const shortcuts = {
  " ": "play", Enter: "play", c: "copy", p: "pin", f: "fetch", Delete: "remove",
};

grid.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const row = rows.get(chosen);
  const action = actions[shortcuts[event.key] ?? shortcuts[event.key.toLowerCase()]];
  if (moves[event.key]) moves[event.key]();
  else if (row && action) action(row);
  else return;
  event.preventDefault();
});
body.addEventListener("click", (event) => {
  const key = event.target.closest(".row")?.dataset.key;
  if (!rows.has(key)) return;
  choose(key);
  grid.focus({ preventScroll: true });
  actions[event.target.dataset.action]?.(rows.get(key));
});
body.addEventListener("dblclick", (event) => {
  const row = rows.get(event.target.closest(".row")?.dataset.key);
  if (row && !event.target.dataset.action) actions.play(row);
});
byID("chosen").addEventListener("click", (event) => {
  const row = rows.get(chosen);
  if (row) actions[event.target.dataset.action]?.(row);
});
grid.addEventListener("scroll", request, { passive: true });
new ResizeObserver(repaint).observe(grid);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
// "3 min. ago" grows without news.
setInterval(request, 30_000);

const url = byID("url");
byID("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await act({ action: "add", url: url.value, pin: byID("pin").checked })) url.value = "";
});
byID("play").addEventListener("click", () => { if (url.reportValidity()) play(url.value.trim()); });
byID("copy").addEventListener("click", () => { if (url.reportValidity()) copy(url.value.trim()); });

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
  if (shown.length > 0) choose(shown[0].key);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, textarea, dialog")) return;
  event.preventDefault();
  search.focus();
});

function setSort(sort, descending = !["name", "type"].includes(sort)) {
  [view.sort, view.descending, byID("sort").value] = [sort, descending, sort];
  setText(byID("direction"), descending ? "Descending" : "Ascending");
  for (const column of head.querySelectorAll("[data-sort]")) {
    if (column.dataset.sort !== sort) column.removeAttribute("aria-sort");
    else column.setAttribute("aria-sort", descending ? "descending" : "ascending");
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
