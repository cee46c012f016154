// SPDX-License-Identifier: MIT

extension PageFile {
  /// The rows: only those in sight are elements of the page.
  static let listText = #"""
    import * as store from "./store.js";
    import { ago, element, host, percent, rate, size } from "./format.js";
    import { draw, label, onColors } from "./strip.js";

    const grid = document.getElementById("grid");
    const body = document.getElementById("rows");
    const head = document.getElementById("head");
    const none = document.getElementById("none");
    const empty = document.getElementById("empty");
    /** Rows drawn beyond the sight, so that scrolling shows no gaps. */
    const margin = 4;

    /** The elements in use, by the row's key, and those that wait for use. */
    const used = new Map();
    const spare = [];

    let chosen = null;
    let height = 46;
    let isDue = false;

    function make() {
      const row = element("div", "row");
      row.setAttribute("role", "row");
      const cells = {};
      for (const part of ["name", "type", "strip", "stored", "size", "rate", "used"]) {
        cells[part] = element("span", part);
        cells[part].setAttribute("role", "gridcell");
        row.append(cells[part]);
        cells[part].setAttribute("aria-colindex", row.children.length);
      }
      cells.title = element("b");
      cells.place = element("small");
      cells.name.append(cells.title, cells.place);
      cells.canvas = element("canvas");
      cells.canvas.setAttribute("role", "img");
      cells.strip.append(cells.canvas);
      return { row, cells, shown: null };
    }

    function setText(cell, text) { if (cell.textContent !== text) cell.textContent = text; }

    function fill(item, row, index) {
      const { cells } = item;
      item.row.style.transform = `translateY(${index * height}px)`;
      item.row.setAttribute("aria-rowindex", index + 2);
      item.row.setAttribute("aria-selected", String(row.key === chosen));
      setText(cells.used, ago(row.used));
      if (item.shown === row) return;
      item.shown = row;
      item.row.dataset.key = row.key;
      const pin = row.pinned === "yes" ? "pinned, " : row.pinned ? "partly pinned, " : "";
      setText(cells.title, row.name);
      setText(cells.place, pin + host(row.url));
      setText(cells.type, row.parts === undefined ? row.type ?? "unknown" : "stream");
      setText(cells.stored, percent(row));
      setText(cells.size, size(row.parts === undefined ? row.length ?? row.stored : row.stored));
      setText(cells.rate, rate(row.rate));
      item.row.title = row.url;
      cells.canvas.setAttribute("aria-label", label(row));
      draw(cells.canvas, row, stripSize);
    }

    /** The size of every strip, measured once: measuring between changes is slow. */
    let stripSize = null;

    function paint() {
      isDue = false;
      if (grid.offsetParent === null) return;
      const count = store.shown.length;
      height = parseFloat(getComputedStyle(grid).getPropertyValue("--row")) || 46;
      body.style.height = count * height + "px";
      grid.setAttribute("aria-rowcount", count + 1);
      // Fewer rows than before: the browser scrolls back later.
      const most = Math.max(0, count * height - grid.clientHeight);
      const top = Math.min(most, Math.max(0, grid.scrollTop - head.offsetHeight));
      const first = Math.max(0, Math.floor(top / height) - margin);
      const last = Math.min(count, Math.ceil((top + grid.clientHeight) / height) + margin);
      const wanted = new Set();
      for (let index = first; index < last; index++) wanted.add(store.shown[index].key);
      for (const [key, item] of used) {
        if (wanted.has(key)) continue;
        used.delete(key);
        item.row.remove();
        spare.push(item);
      }
      for (let index = first; index < last; index++) {
        const row = store.shown[index];
        let item = used.get(row.key);
        if (!item) {
          item = spare.pop() ?? make();
          used.set(row.key, item);
        }
        // Readers of screens follow the order of the elements.
        const place = body.children[index - first];
        if (place !== item.row) body.insertBefore(item.row, place ?? null);
        stripSize ??= {
          width: item.cells.canvas.clientWidth, height: item.cells.canvas.clientHeight,
        };
        fill(item, row, index);
      }
      spare.length = Math.min(spare.length, 60);
      const active = chosen === null ? null : used.get(chosen);
      for (const [, item] of used) item.row.id = "row-" + item.row.getAttribute("aria-rowindex");
      if (active) {
        grid.setAttribute("aria-activedescendant", active.row.id);
      } else {
        grid.removeAttribute("aria-activedescendant");
      }
      none.hidden = count > 0;
      setText(
        empty, store.rows.size > 0 ? "No row matches the search."
          : "Nothing is stored yet. Add a URL above, or play one through the proxy.");
    }

    export function toTop() { grid.scrollTop = 0; }

    /** Paints with the next frame. */
    export function request() {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(paint);
    }

    export function repaint() {
      stripSize = null;
      for (const [, item] of used) item.shown = null;
      request();
    }

    export function chosenRow() { return chosen === null ? null : store.rows.get(chosen) ?? null; }

    const choices = new EventTarget();
    export function onChoice(action) { choices.addEventListener("choice", action); }

    export function choose(key, isShown = false) {
      chosen = key;
      const index = store.place(key);
      if (index >= 0) {
        const [start, end] = [index * height, (index + 1) * height];
        const inner = grid.clientHeight - head.offsetHeight;
        if (start < grid.scrollTop) grid.scrollTop = start;
        else if (end > grid.scrollTop + inner) grid.scrollTop = end - inner;
      }
      request();
      choices.dispatchEvent(new CustomEvent("choice", { detail: isShown }));
    }

    function move(step) {
      if (store.shown.length === 0) return;
      const now = chosen === null ? -1 : store.place(chosen);
      const next = Math.min(store.shown.length - 1, Math.max(0, now + step));
      choose(store.shown[next].key);
    }

    const page = () => Math.max(1, Math.floor(grid.clientHeight / height) - 1);
    const moves = {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()),
      PageUp: () => move(-page()), Home: () => move(-Infinity), End: () => move(Infinity),
    };

    /** @param actions by the key of the keyboard, each called with the chosen row. */
    export function start(actions) {
      grid.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const row = chosenRow();
        if (moves[event.key]) {
          moves[event.key]();
        } else if (row && actions[event.key.toLowerCase()]) {
          actions[event.key.toLowerCase()](row);
        } else {
          return;
        }
        event.preventDefault();
      });
      body.addEventListener("click", (event) => {
        const row = event.target.closest(".row");
        if (row) choose(row.dataset.key, true);
      });
      body.addEventListener("dblclick", (event) => {
        const row = store.rows.get(event.target.closest(".row")?.dataset.key);
        if (row) actions[" "](row);
      });
      grid.addEventListener("scroll", request, { passive: true });
      new ResizeObserver(repaint).observe(grid);
      onColors(repaint);
      store.on("rows", request);
      // "3 min. ago" grows without news.
      setInterval(request, 30_000);
    }
    """#
}
