// SPDX-License-Identifier: MIT

extension PageFile {
  /// The figures, the downloads, the last requests and the problems.
  static let panelsText = #"""
    import * as store from "./store.js";
    import { button, clock, element, keepFocus, rate, size } from "./format.js";

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
        meter.setAttribute("aria-valuetext", meter.title);
      }
    }

    // MARK: Downloads

    const items = new Map();

    function makeList() {
      const list = element("ul", "list");
      // Safari takes the role from a list without bullets.
      list.setAttribute("role", "list");
      return list;
    }

    const list = makeList();
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
        pin: button("Pin", act("pinDownload")),
        remove: button("Remove", act("cancel")),
      };
      const buttons = element("span", "buttons");
      buttons.append(parts.pause, parts.resume, parts.pin, parts.up, parts.down, parts.remove);
      parts.text.id = "download-" + id;
      for (const one of buttons.children) one.setAttribute("aria-describedby", parts.text.id);
      item.append(parts.text, parts.progress, parts.facts, buttons, parts.error);
      return parts;
    }

    /** Where the focus goes if its button goes: to its counterpart, else to the next download. */
    function otherButtons(focused) {
      const all = [...items.values()];
      const place = all.find((parts) => parts.item.contains(focused));
      if (!place) return [byID("downloads")];
      const { pause, resume, up, down, remove, item } = place;
      const pairs = new Map([[pause, resume], [resume, pause], [up, down], [down, up]]);
      const near = [item.nextElementSibling, item.previousElementSibling]
        .map((other) => all.find((parts) => parts.item === other)?.remove);
      return [pairs.get(focused), remove, ...near, byID("downloads")];
    }

    function downloads() { keepFocus(byID("downloads"), otherButtons, showDownloads); }

    function showDownloads() {
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
        parts.pin.hidden = pinned === true;
        parts.up.hidden = parts.down.hidden = state === "done";
        parts.up.disabled = index === 0;
        parts.down.disabled = index === queue.length - 1;
      });
      noDownloads.hidden = queue.length > 0;
    }

    // MARK: Requests and problems

    const lastShown = new Map();

    function fill(id, entries, make, none) {
      const panel = byID(id);
      setCount(id, entries.length);
      if (panel.hidden) return;
      if (panel.children.length === 0) panel.append(element("p", "", none), makeList());
      const [text, list] = panel.children;
      text.hidden = entries.length > 0;
      // What is there stays: a reader of screens loses its place with each new element.
      const known = entries.lastIndexOf(lastShown.get(id));
      if (known < 0) list.replaceChildren();
      list.prepend(...entries.slice(known + 1).toReversed().map(make));
      while (list.children.length > entries.length) list.lastChild.remove();
      lastShown.set(id, entries.at(-1));
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
          const last = tabs.length - 1;
          const place = {
            ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index === 0 ? last : index - 1,
            Home: 0, End: last,
          }[event.key];
          if (place === undefined) return;
          event.preventDefault();
          const next = tabs[place];
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
