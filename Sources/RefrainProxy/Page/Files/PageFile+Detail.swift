// SPDX-License-Identifier: MIT

extension PageFile {
  /// The chosen row in full, with the variants of a stream.
  static let detailText = #"""
    import * as store from "./store.js";
    import {
      ago, button, count, element, keepFocus, parts, percent, rate, size,
    } from "./format.js";
    import { draw, label, onColors, strip } from "./strip.js";
    import { chosenRow, onChoice } from "./list.js";

    const panel = document.getElementById("detail");
    const title = element("h2");
    const canvas = element("canvas");
    canvas.setAttribute("role", "img");
    const facts = element("dl");
    const buttons = element("div", "buttons");
    const variants = element("div");
    const values = new Map();

    let isOpen = false;
    let shown = null;
    let actions = {};
    const pin = button("Pin", () => withRow("p"));
    const play = button("Play", () => withRow(" "));
    const rest = button("Fetch the rest", () => withRow("f"));
    const names = new Map();

    function withRow(key) {
      const row = chosenRow();
      if (row) actions[key](row);
    }

    function fact(name, value) {
      if (!values.has(name)) {
        const [term, text] = [element("dt", "", name), element("dd")];
        facts.append(term, text);
        values.set(name, { term, text });
      }
      const { term, text } = values.get(name);
      term.hidden = text.hidden = value === null;
      if (value !== null && text.textContent !== value) text.textContent = value;
    }

    const grid = document.getElementById("grid");

    function update() { keepFocus(panel, () => [pin, grid], change); }

    function change() {
      const row = isOpen ? chosenRow() : null;
      panel.hidden = row === null;
      if (row === null) { shown = null; return; }
      if (row === shown) return;
      const isOther = shown === null || shown.key !== row.key;
      shown = row;
      title.textContent = row.name;
      fact("URL", row.url);
      fact("Key", row.key === row.url ? null : row.key);
      fact("Type", row.type ?? "unknown");
      fact("Stored", row.parts === undefined
        ? size(row.stored) + " of " + size(row.length) + " (" + percent(row) + ")"
        : size(row.stored) + ", " + parts(row));
      fact("Pieces", row.parts === undefined
        ? count((row.spans ?? []).length / 2, "piece") + (row.rounded ? " shown, rounded" : "")
        : null);
      fact("Readers", String((row.readers ?? []).length));
      fact("From the origin", rate(row.rate));
      fact("On disk", size(row.disk) + (row.pinned ? ", pinned" : "")
        + (row.pinned === "partly" ? " in part" : ""));
      fact("Last use", ago(row.used));
      pin.textContent = row.pinned === "yes" ? "Unpin" : "Pin";
      rest.hidden = row.parts === undefined && row.length === row.stored;
      canvas.setAttribute("aria-label", label(row));
      draw(canvas, row);
      if (isOther) variants.replaceChildren();
      if (row.parts !== undefined) loadVariants(row.key, isOther);
    }

    let lastLoad = 0;
    let isLoading = false;

    /** At most every two seconds: the proxy reads the playlists for it. */
    async function loadVariants(key, isOther) {
      if (isLoading || (!isOther && performance.now() - lastLoad < 2000)) return;
      isLoading = true;
      try {
        const list = await store.variants(key);
        if (chosenRow()?.key !== key) return;
        variants.replaceChildren(element("h3", "", "Variants"), ...list.map((variant) => {
          const item = element("div", "variant");
          const whole = (variant.spans ?? []).reduce(
            (sum, bound, index) => sum + (index % 2 === 0 ? -bound : bound), 0);
          const text = (variant.name || "The only variant") + ": " + (variant.length > 0
            ? whole + " of " + count(variant.length, "part") + ", " + size(variant.stored)
            : "its playlist is not stored");
          item.append(
            element("div", "", text),
            strip({ ...variant, parts: whole, length: variant.length || undefined }));
          return item;
        }));
        if (list.length === 0) {
          variants.replaceChildren(element("p", "", "Its first playlist is not stored."));
        }
      } catch (error) {
        store.say(error.message, true);
      } finally {
        lastLoad = performance.now();
        isLoading = false;
        if (shown && shown.key !== key && shown.parts !== undefined) loadVariants(shown.key, true);
      }
    }

    export function open() {
      isOpen = true;
      shown = null;
      update();
      panel.focus({ preventScroll: true });
    }

    export function close() {
      isOpen = false;
      update();
      grid.focus();
    }

    export function start(given) {
      actions = given;
      buttons.append(
        play, button("Copy proxy URL", () => withRow("c")), rest, pin,
        button("Remove", () => withRow("delete"), "danger"), button("Close", close));
      panel.append(title, canvas, facts, buttons, variants);
      panel.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
      store.on("rows", update);
      onColors(() => { shown = null; update(); });
      onChoice((event) => {
        if (event.detail) isOpen = true;
        update();
      });
    }
    """#
}
