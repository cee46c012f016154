// SPDX-License-Identifier: MIT

extension PageFile {
  /// Texts for numbers, times and URLs.
  static let formatText = #"""
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

    export function size(bytes) {
      if (bytes === undefined || bytes === null) return "?";
      let value = bytes, unit = 0;
      while (Math.abs(value) >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
      return (unit === 0 ? value : value.toFixed(1)) + " " + units[unit];
    }

    export function rate(bytes) { return bytes > 0 ? size(bytes) + "/s" : "–"; }

    const near = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

    export function ago(seconds, now = Date.now() / 1000) {
      const past = Math.max(0, now - seconds);
      if (past < 60) return "now";
      if (past < 3600) return near.format(-Math.floor(past / 60), "minute");
      if (past < 86400) return near.format(-Math.floor(past / 3600), "hour");
      if (past < 30 * 86400) return near.format(-Math.floor(past / 86400), "day");
      return new Date(seconds * 1000).toISOString().slice(0, 10);
    }

    export function clock(seconds) { return new Date(seconds * 1000).toLocaleTimeString(); }

    /** The last part of a URL's path, for people. */
    export function name(url) {
      const end = url.search(/[?#]/);
      const path = end < 0 ? url : url.slice(0, end);
      const parts = path.split("/").filter((part) => part !== "");
      const last = parts.length > 2 ? parts[parts.length - 1] : path;
      try { return decodeURIComponent(last); } catch { return last; }
    }

    export function host(url) {
      const match = /^[a-z]+:\/\/([^/?#]*)/i.exec(url);
      return match ? match[1] : "";
    }

    /** The stored share of the bytes or parts, 0 to 1; null while the length is unknown. */
    export function share(row) {
      if (row.length === undefined) return null;
      return row.length === 0 ? 1 : (row.parts ?? row.stored) / row.length;
    }

    export function percent(row) {
      const part = share(row);
      if (part === null) return row.parts === undefined ? "?" : count(row.parts, "part");
      return part >= 1 ? "100%" : Math.min(99, Math.floor(part * 100)) + "%";
    }

    /** The stored parts of a stream; the number alone while that of all is unknown. */
    export function parts(row) {
      return row.length === undefined ? count(row.parts, "part") + " stored"
        : row.parts + " of " + count(row.length, "part") + " stored (" + percent(row) + ")";
    }

    export function count(number, one, many = one + "s") {
      return number + " " + (number === 1 ? one : many);
    }

    /** Creates an element with a class and a text: names never become markup. */
    export function element(tag, style, text) {
      const made = document.createElement(tag);
      if (style) made.className = style;
      if (text !== undefined) made.textContent = text;
      return made;
    }

    const canFocus = (element) =>
      element?.isConnected && !element.disabled && element !== document.body
      && element.getClientRects().length > 0;

    /** Moves the focus to the first element that can have it. */
    export function focusFirst(elements) {
      elements.find(canFocus)?.focus({ preventScroll: true });
    }

    /** Makes a change that may hide the focused element. The focus goes to others then: nobody
     * has to begin at the top of the page again. `others` is called before the change. */
    export function keepFocus(place, others, change) {
      const focused = document.activeElement;
      const next = place.contains(focused) ? others(focused) : null;
      change();
      if (next && !canFocus(focused)) focusFirst(next);
    }

    export function button(text, action, style) {
      const made = element("button", style, text);
      made.type = "button";
      made.addEventListener("click", action);
      return made;
    }
    """#
}
