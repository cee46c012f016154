// SPDX-License-Identifier: MIT

extension PageFile {
  /// What the proxy has reported, in the order in which it is shown, and requests for changes.
  static let storeText = #"""
    import { name, share } from "./format.js";

    export const rows = new Map();
    export const requests = [];
    export const problems = [];
    export let state = { downloads: [], today: {}, all: {} };
    /** The rows that are shown, in order. */
    export let shown = [];
    export const view = { search: "", sort: "used", descending: true };

    const events = new EventTarget();
    export function on(kind, action) { events.addEventListener(kind, action); }
    function tell(kind) { events.dispatchEvent(new Event(kind)); }

    const keys = {
      used: (row) => row.used,
      name: (row) => row.lowName,
      type: (row) => row.type ?? "",
      share: (row) => share(row) ?? -1,
      size: (row) => row.parts === undefined ? row.length ?? row.stored : row.stored,
      disk: (row) => row.disk,
      rate: (row) => row.rate ?? 0,
    };

    /** Finds the shown rows again: after a change of the view, or of what it depends on. */
    export function arrange() {
      const key = keys[view.sort];
      const sign = view.descending ? -1 : 1;
      const words = view.search.toLowerCase().split(/\s+/).filter((word) => word !== "");
      shown = [];
      for (const row of rows.values()) {
        if (words.every((word) => row.lowText.includes(word))) shown.push(row);
      }
      shown.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x !== y) return x < y ? -sign : sign;
        return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
      });
      places = null;
      tell("rows");
    }

    let places = null;
    /** The place of a row among the shown ones; -1 if it is none of them. */
    export function place(key) {
      places ??= new Map(shown.map((row, index) => [row.key, index]));
      return places.get(key) ?? -1;
    }

    let arranges = false;

    function takeRows(part) {
      if (part.whole) { rows.clear(); arranges = true; }
      const key = keys[view.sort];
      for (const row of part.rows) {
        const old = rows.get(row.key);
        row.name = name(row.url);
        row.lowName = row.name.toLowerCase();
        row.lowText = (row.url + " " + row.name + " " + (row.type ?? "")).toLowerCase();
        rows.set(row.key, row);
        if (old && key(old) === key(row)) {
          const index = place(row.key);
          if (index >= 0) shown[index] = row;
        } else {
          arranges = true;
        }
      }
      for (const key of part.removed ?? []) arranges = rows.delete(key) || arranges;
      if (part.more) return;
      if (arranges) { arranges = false; arrange(); } else { tell("rows"); }
    }

    function append(list, more, most) {
      list.push(...more);
      if (list.length > most) list.splice(0, list.length - most);
    }

    function take(part) {
      if (part.rows) takeRows(part);
      if (!part.state) return;
      state = part.state;
      append(requests, part.requests, 200);
      append(problems, part.problems, 100);
      tell("state");
      if (part.requests.length > 0) tell("requests");
      if (part.problems.length > 0) tell("problems");
    }

    /** Follows the proxy. The browser connects again by itself, and then receives everything. */
    export function follow() {
      const source = new EventSource("page/events");
      source.onopen = () => {
        requests.length = 0;
        problems.length = 0;
        say("");
      };
      source.onmessage = (event) => take(JSON.parse(event.data));
      source.onerror = () => {
        say(
          "The proxy does not respond. If it was stopped, start it again: 'refrain serve'.", true);
        // After an error response the browser does not try again.
        if (source.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
      };
    }

    export function say(text, isError = false) {
      const message = document.getElementById("message");
      if (message.textContent !== text) message.textContent = text;
      message.className = isError ? "error" : "";
    }

    /** A refusal is JSON of the page, a problem (RFC 9457), or the text of who is in between. */
    async function read(answer) {
      const text = await answer.text();
      let body;
      try { body = JSON.parse(text); } catch { body = undefined; }
      if (answer.ok && body !== undefined) return body;
      const reason = body?.error ?? body?.detail ?? text.trim().slice(0, 300);
      throw new Error(reason || "The proxy responded " + answer.status + ".");
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

    export async function variants(key) {
      return (await read(await fetch("page/stream?key=" + encodeURIComponent(key)))).variants;
    }

    /** The proxy's URL of a URL, in full. */
    export async function address(url) {
      const body = await read(await fetch("page/address?url=" + encodeURIComponent(url)));
      return new URL(body.address, location.origin).href;
    }
    """#
}
