// SPDX-License-Identifier: MIT

extension PageFile {
  /// The figures, the downloads, the last requests and the problems.
  static let panelsText = #"""
    import * as store from "./store.js";
    import { button, clock, count, element, rate, size } from "./format.js";

    const byID = (id) => document.getElementById(id);
    const tabs = [...document.querySelectorAll("[role=tab]")];

    function setText(id, text) {
      const place = byID(id);
      if (place.textContent !== text) place.textContent = text;
    }

    function setCount(tab, number) {
      const place = byID("tab-" + tab).querySelector(".count");
      place.textContent = number > 0 ? "(" + number + ")" : "";
    }

    function figures() {
      const { state } = store;
      const limit = state.limit === undefined ? "" : " of " + size(state.limit);
      setText("disk", size(state.disk) + limit);
      setText("saved-today", size(state.today.saved));
      setText("saved-all", size(state.all.saved));
      const { hits, requests } = state.today;
      const part = requests > 0 ? " (" + Math.floor(100 * hits / requests) + "%)" : "";
      setText("hits", hits + " of " + requests + part);
      setText("received", state.offline ? "offline" : rate(state.received));
      setText("sent", rate(state.sent));
      const meter = byID("disk-meter");
      meter.hidden = state.limit === undefined;
      if (!meter.hidden) {
        meter.max = Math.max(1, state.limit);
        meter.high = meter.max * 0.95;
        meter.value = state.disk;
        meter.title = size(state.disk) + limit;
      }
    }

    // MARK: Downloads

    const items = new Map();
    const list = element("ul", "list");
    const noDownloads = element("p", "", "The queue is empty. Add a URL above.");
    const states = {
      waiting: "waits for its turn", running: "is fetched", paused: "paused", done: "complete",
      failed: "failed",
    };

    function makeItem(id) {
      const item = element("li", "item");
      const act = (action, more = {}) => () => store.act({ action, id, ...more });
      const parts = {
        item, text: element("span", "text"), facts: element("span", "facts"),
        progress: element("progress"), error: element("span", "error"),
        pause: button("Pause", act("pause")), resume: button("Go on", act("resume")),
        up: button("Up", act("move", { places: -1 })),
        down: button("Down", act("move", { places: 1 })),
        remove: button("Remove", act("cancel")),
      };
      const buttons = element("span", "buttons");
      buttons.append(parts.pause, parts.resume, parts.up, parts.down, parts.remove);
      item.append(parts.text, parts.progress, parts.facts, buttons, parts.error);
      return parts;
    }

    function downloads() {
      const queue = store.state.downloads;
      setCount("downloads", queue.filter((item) => item.state !== "done").length);
      const known = new Set(queue.map((item) => item.id));
      for (const [id, parts] of items) {
        if (!known.has(id)) { parts.item.remove(); items.delete(id); }
      }
      queue.forEach((download, index) => {
        const { id, url, state, stored, total, pinned, error } = download;
        if (!items.has(id)) items.set(id, makeItem(id));
        const parts = items.get(id);
        if (list.children[index] !== parts.item) {
          // Moving an element takes the focus from its buttons.
          const focused = document.activeElement;
          list.insertBefore(parts.item, list.children[index] ?? null);
          if (parts.item.contains(focused)) focused.focus();
        }
        parts.text.textContent = url;
        parts.item.setAttribute("aria-label", url + ", " + states[state]);
        const amount = size(stored) + (total === undefined ? "" : " of " + size(total));
        parts.facts.textContent = states[state] + ", " + amount + (pinned ? ", pinned" : "");
        parts.progress.hidden = state === "done" || state === "failed";
        parts.progress.setAttribute("aria-label", "Progress of " + url);
        if (total > 0) {
          [parts.progress.max, parts.progress.value] = [total, Math.min(stored, total)];
        } else {
          parts.progress.removeAttribute("value");
        }
        parts.error.textContent = error ?? "";
        parts.pause.hidden = state !== "waiting" && state !== "running";
        parts.resume.hidden = state !== "paused" && state !== "failed";
        parts.up.hidden = parts.down.hidden = state === "done";
        parts.up.disabled = index === 0;
        parts.down.disabled = index === queue.length - 1;
      });
      noDownloads.hidden = queue.length > 0;
    }

    // MARK: Requests and problems

    function fill(id, entries, make, none) {
      const panel = byID(id);
      setCount(id, entries.length);
      if (panel.hidden) return;
      const list = element("ul", "list");
      list.append(...entries.toReversed().map(make));
      panel.replaceChildren(entries.length > 0 ? list : element("p", "", none));
    }

    function requests() {
      fill("requests", store.requests, (request) => {
        const item = element("li", request.error ? "item fault" : "item");
        const { method, status, source, bytes, milliseconds, client } = request;
        item.append(
          element("span", "facts", clock(request.time)),
          element("b", "", `${method} ${status} ${source}`),
          element("span", "facts", `${size(bytes)}, ${milliseconds} ms, ${client}`),
          element("span", "text", request.url));
        if (request.error) item.append(element("span", "error", request.error));
        return item;
      }, "No requests yet.");
    }

    function problems() {
      fill("problems", store.problems, (problem) => {
        const item = element("li", "item fault");
        item.append(
          element("span", "facts", clock(problem.time)), element("span", "text", problem.text));
        if (problem.url) item.append(element("span", "facts", problem.url));
        return item;
      }, "No problems.");
    }

    // MARK: Tabs

    function select(tab) {
      for (const other of tabs) {
        const isChosen = other === tab;
        other.setAttribute("aria-selected", String(isChosen));
        other.tabIndex = isChosen ? 0 : -1;
        byID(other.getAttribute("aria-controls")).hidden = !isChosen;
      }
      requests();
      problems();
    }

    export function show(name) { select(byID("tab-" + name)); }

    export function start() {
      byID("downloads").append(noDownloads, list);
      for (const [index, tab] of tabs.entries()) {
        tab.addEventListener("click", () => select(tab));
        tab.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          const next = tabs[(index + step + tabs.length) % tabs.length];
          select(next);
          next.focus();
        });
      }
      store.on("state", () => { figures(); downloads(); });
      store.on("rows", () => setCount("stored", store.rows.size));
      store.on("requests", requests);
      store.on("problems", problems);
    }
    """#
}
