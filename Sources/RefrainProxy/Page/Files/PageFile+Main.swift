// SPDX-License-Identifier: MIT

extension PageFile {
  /// Connects the parts of the page.
  static let mainText = #"""
    import * as store from "./store.js";
    import * as list from "./list.js";
    import * as detail from "./detail.js";
    import * as panels from "./panels.js";
    import { count } from "./format.js";
    import { copy, play } from "./player.js";

    const byID = (id) => document.getElementById(id);

    async function remove(row) {
      const ask = byID("ask");
      byID("question").textContent =
        "Remove " + row.name + (row.parts === undefined ? "" : " and its parts")
        + " from the cache?" + (row.pinned ? " It is pinned." : "");
      ask.returnValue = "";
      ask.showModal();
      await new Promise((done) => ask.addEventListener("close", done, { once: true }));
      if (ask.returnValue !== "yes") return;
      const index = store.place(row.key);
      // The row may go before the response arrives.
      const next = store.shown[index + 1] ?? store.shown[index - 1];
      if (await store.act({ action: "remove", key: row.key }) && next) list.choose(next.key);
    }

    /** By the keys of the keyboard. */
    const actions = {
      enter: () => detail.open(),
      " ": (row) => play(row.url, row.type),
      c: (row) => copy(row.url),
      p: (row) => store.act({ action: row.pinned === "yes" ? "unpin" : "pin", key: row.key }),
      f: (row) => store.act({ action: "add", url: row.url, pin: row.pinned === "yes" }),
      delete: remove,
    };

    const url = byID("url");
    byID("add").addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await store.act({ action: "add", url: url.value, pin: byID("pin").checked })) {
        url.value = "";
        panels.show("downloads");
      }
    });
    byID("play").addEventListener("click", () => {
      if (url.reportValidity()) play(url.value.trim());
    });
    byID("copy").addEventListener("click", () => {
      if (url.reportValidity()) copy(url.value.trim());
    });

    byID("search").addEventListener("input", (event) => {
      store.view.search = event.target.value;
      store.arrange();
      list.toTop();
      byID("found").textContent =
        store.view.search.trim() === "" ? "" : count(store.shown.length, "row") + " found";
    });
    byID("search").addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      event.preventDefault();
      byID("grid").focus();
      if (store.shown.length > 0) list.choose(store.shown[0].key);
    });
    const direction = byID("direction");
    const heads = [...document.querySelectorAll("#head [data-sort]")];
    function setDirection(isDescending) {
      store.view.descending = isDescending;
      direction.textContent = isDescending ? "Descending" : "Ascending";
      for (const head of heads) {
        if (head.dataset.sort !== store.view.sort) head.removeAttribute("aria-sort");
        else head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      }
      store.arrange();
    }
    function setSort(key) {
      store.view.sort = byID("sort").value = key;
      setDirection(!["name", "type"].includes(key));
    }
    // The mouse's way; the keyboard's is the field above.
    for (const head of heads) {
      head.addEventListener("click", () => {
        if (head.dataset.sort === store.view.sort) setDirection(!store.view.descending);
        else setSort(head.dataset.sort);
      });
    }
    byID("sort").addEventListener("change", (event) => setSort(event.target.value));
    direction.addEventListener("click", () => setDirection(!store.view.descending));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.closest("input, select, textarea, dialog")) return;
      event.preventDefault();
      panels.show("stored");
      byID("search").focus();
    });
    byID("tab-stored").addEventListener("click", list.request);

    list.start(actions);
    detail.start(actions);
    panels.start();
    setSort(store.view.sort);
    store.follow();
    """#
}
