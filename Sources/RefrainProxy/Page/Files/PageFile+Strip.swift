// SPDX-License-Identifier: MIT

extension PageFile {
  /// Draws strips: above, what is stored; below, what is being fetched and where readers are.
  ///
  /// A pixel is full only if all its bytes are stored.
  static let stripText = #"""
    import { count, parts, percent } from "./format.js";

    let colors = null;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const listeners = new Set();
    dark.addEventListener("change", () => { colors = null; for (const draw of listeners) draw(); });

    /** Calls `draw` when the colors change. */
    export function onColors(draw) { listeners.add(draw); }

    function palette() {
      if (colors) return colors;
      const style = getComputedStyle(document.documentElement);
      const color = (name) => style.getPropertyValue("--" + name).trim();
      colors = {
        full: color("full"), part: color("part"), none: color("none"), fetch: color("fetch"),
        reader: color("reader"), rail: color("rail"),
      };
      return colors;
    }

    /** @param size in pixels of the page; measured if there is none. */
    export function draw(canvas, row, size = null) {
      const ratio = window.devicePixelRatio || 1;
      const width = Math.max(1, Math.round((size?.width ?? canvas.clientWidth) * ratio));
      const height = Math.max(1, Math.round((size?.height ?? canvas.clientHeight) * ratio));
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
      const context = canvas.getContext("2d");
      const { full, part, none, fetch, reader, rail } = palette();
      const lane = Math.round(height * 0.62);
      context.clearRect(0, 0, width, height);
      context.fillStyle = none;
      context.fillRect(0, 0, width, lane);
      const spans = row.spans ?? [];
      const fetching = row.fetching ?? [];
      const readers = row.readers ?? [];
      // While the length is unknown, the strip ends with what is known.
      const known = Math.max(1, ...spans.slice(-1), ...fetching.slice(-1), ...readers.slice(-1));
      const length = row.length > 0 ? row.length : known;
      const x = (offset) => offset * width / length;
      for (let index = 0; index < spans.length; index += 2) {
        const start = x(spans[index]), end = x(spans[index + 1]);
        const from = Math.ceil(start), to = Math.floor(end);
        context.fillStyle = part;
        if (from > start) context.fillRect(from - 1, 0, 1, lane);
        if (end > to) context.fillRect(to, 0, 1, lane);
      }
      context.fillStyle = full;
      for (let index = 0; index < spans.length; index += 2) {
        const from = Math.ceil(x(spans[index])), to = Math.floor(x(spans[index + 1]));
        if (to > from) context.fillRect(from, 0, to - from, lane);
      }
      // Shows where the strip ends, whatever is stored.
      context.fillStyle = rail;
      context.fillRect(0, lane, width, Math.max(1, Math.round(ratio)));
      context.fillStyle = fetch;
      for (let index = 0; index < fetching.length; index += 2) {
        const from = x(fetching[index]);
        context.fillRect(
          from, lane + 2 * ratio, Math.max(2 * ratio, x(fetching[index + 1]) - from),
          height - lane - 2 * ratio);
      }
      context.fillStyle = reader;
      for (const position of readers) {
        const at = Math.min(width - 1, x(position));
        context.fillRect(at - ratio, lane - 2 * ratio, 2 * ratio, height - lane + 2 * ratio);
        context.beginPath();
        context.moveTo(at - 4 * ratio, height);
        context.lineTo(at + 4 * ratio, height);
        context.lineTo(at, lane);
        context.fill();
      }
    }

    /** What the strip shows, for those who do not see it. */
    export function label(row) {
      const facts = [row.parts === undefined ? percent(row) + " stored" : parts(row)];
      const spans = (row.spans ?? []).length / 2;
      if (row.parts === undefined && spans > 1) facts.push("in " + count(spans, "piece"));
      if ((row.fetching ?? []).length > 0) facts.push("being fetched");
      const readers = (row.readers ?? []).length;
      if (readers > 0) facts.push(count(readers, "reader"));
      return facts.join(", ");
    }

    /** Creates a strip that is drawn when it has a size. */
    export function strip(row) {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", label(row));
      requestAnimationFrame(() => draw(canvas, row));
      return canvas;
    }
    """#
}
