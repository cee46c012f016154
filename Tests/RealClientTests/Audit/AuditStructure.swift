// SPDX-License-Identifier: MIT

extension AuditScript {
  /// Names, roles and their nesting, references, headings, landmarks and live regions, as far as
  /// markup shows them.
  static let structure = #"""
    /** The roles that the page may use, and what each may own; null: anything. */
    const roles = {
      grid: ["row", "rowgroup"], rowgroup: ["row"],
      row: ["gridcell", "columnheader", "rowheader"], gridcell: null, columnheader: null,
      img: [], status: null,
    };
    const states = [
      "activedescendant", "colcount", "colindex", "colspan", "controls", "current", "describedby",
      "expanded", "hidden", "keyshortcuts", "label", "labelledby", "live", "pressed", "readonly",
      "rowcount", "rowindex", "selected", "sort", "valuetext",
    ].map((name) => "aria-" + name);
    const owners = {
      "aria-rowcount": ["grid"], "aria-colcount": ["grid"], "aria-readonly": ["grid"],
      "aria-activedescendant": ["grid"], "aria-rowindex": ["row"],
      "aria-selected": ["row", "gridcell"], "aria-sort": ["columnheader"],
      "aria-colindex": ["gridcell", "columnheader"], "aria-colspan": ["gridcell"],
      "aria-pressed": ["button"],
    };
    const controls = "button, input, select, textarea, a[href], summary, audio[controls], "
      + "video[controls], [tabindex]";
    const named = controls + ", [role=img], [role=grid], meter, dialog, img";

    function role(element) {
      const given = element.getAttribute("role");
      if (given) return given;
      const { tagName: tag, type } = element;
      if (tag === "BUTTON") return "button";
      if (tag === "INPUT") return type === "checkbox" ? "checkbox" : "textbox";
      if (["DIV", "SPAN"].includes(tag)) return "";
      return tag.toLowerCase();
    }

    const text = (element) => element.textContent.replace(/\s+/g, " ").trim();

    function name(element) {
      const by = element.getAttribute("aria-labelledby");
      if (by) {
        return by.split(/\s+/).map((id) => text(document.getElementById(id) ?? new Text("")))
          .join(" ").trim();
      }
      const label = element.getAttribute("aria-label")?.trim();
      if (label) return label;
      // A placeholder and a title are none: the one disappears, the other appears.
      if (element.labels?.length > 0) return [...element.labels].map(text).join(" ").trim();
      return ["BUTTON", "A", "SUMMARY"].includes(element.tagName) ? text(element) : "";
    }

    function checkNames(report) {
      for (const element of all(named)) {
        if (!isShown(element)) continue;
        const found = name(element);
        if (found === "" && !element.matches("[tabindex='-1']:not(button)")) {
          report("name", element, "none");
        }
        // Who speaks to the computer says what is seen.
        const seen = element.tagName === "BUTTON" ? text(element) : "";
        if (!found.toLowerCase().includes(seen.toLowerCase())) {
          report("label in name", element, found);
        }
        if (element.hasAttribute("aria-pressed") && /^(ascending|descending|on|off)$/i.test(seen)) {
          report("pressed", element, "both the name and the state change");
        }
      }
      for (const element of all("button button, button a, button input, a button, label label")) {
        report("nested", element, "a control in a control");
      }
    }

    function checkRoles(report) {
      const ids = all("[id]").map((element) => element.id);
      for (const id of ids) {
        if (ids.indexOf(id) !== ids.lastIndexOf(id)) report("id", document.body, id + " twice");
      }
      for (const element of all("body, body *")) {
        const given = element.getAttribute("role");
        if (given && !(given in roles)) report("role", element, given);
        for (const { name, value } of [...element.attributes]) {
          if (name === "tabindex" && Number(value) > 0) report("tabindex", element, value);
          if (!name.startsWith("aria-") && name !== "for") continue;
          if (name !== "for" && !states.includes(name)) report("attribute", element, name);
          if (owners[name] && !owners[name].includes(role(element))) {
            report("attribute", element, name + " on " + role(element));
          }
          if (/^(for|aria-(controls|labelledby|describedby|activedescendant))$/.test(name)) {
            for (const id of value.split(/\s+/)) {
              if (!document.getElementById(id)) report("reference", element, name + " " + id);
            }
          }
        }
        if (element.closest("[aria-hidden=true]") && element.matches(controls)) {
          report("hidden", element, "can be reached");
        }
        const owned = roles[role(element)];
        if (!owned || !isShown(element)) continue;
        // Elements without a role are transparent.
        const children = (parent) => [...parent.children].flatMap((child) =>
          !isShown(child) ? [] : role(child) === "" ? children(child) : [child]);
        if (given === "img") continue;
        for (const child of children(element)) {
          if (!owned.includes(role(child))) {
            report("child", element, role(child) + " in " + role(element));
          }
        }
      }
      const parents = {
        row: "grid", gridcell: "row", columnheader: "row", rowgroup: "grid",
      };
      for (const [inner, outer] of Object.entries(parents)) {
        for (const element of all("[role=" + inner + "]")) {
          if (!element.closest("[role=" + outer + "]")) report("parent", element, inner);
        }
      }
    }

    function checkGrid(report) {
      const grid = document.querySelector("[role=grid]");
      if (!isShown(grid)) return;
      const columns = Number(grid.getAttribute("aria-colcount"));
      const heads = [...grid.querySelectorAll("[role=columnheader]")];
      if (heads.length !== columns) report("grid", grid, heads.length + " heads of " + columns);
      let before = 1;
      for (const row of grid.querySelectorAll("#rows > [role=row]")) {
        const place = Number(row.getAttribute("aria-rowindex"));
        if (place <= before) report("grid", row, place + " after " + before);
        before = place;
        if (!["true", "false"].includes(row.getAttribute("aria-selected"))) {
          report("grid", row, "neither selected nor not");
        }
        const cells = [...row.children].map((cell) => Number(cell.getAttribute("aria-colindex")));
        if (cells.join() !== heads.map((_, index) => index + 1).join()) {
          report("grid", row, "columns " + cells);
        }
      }
      if (before > Number(grid.getAttribute("aria-rowcount"))) {
        report("grid", grid, "row " + before);
      }
      if (grid.querySelectorAll("[role=row][aria-selected=true]").length > 1) {
        report("grid", grid, "two rows are selected");
      }
      const active = document.getElementById(grid.getAttribute("aria-activedescendant"));
      if (active && active.getAttribute("aria-selected") !== "true") {
        report("grid", active, "active, not selected");
      }
    }

    function checkDocument(report) {
      const root = document.documentElement;
      if (!/^[a-z]{2}/.test(root.lang)) report("lang", root, root.lang);
      if (document.title.trim() === "") report("title", root, "none");
      const viewport = document.querySelector("meta[name=viewport]")?.content ?? "";
      if (/user-scalable\s*=\s*no|maximum-scale/.test(viewport)) report("zoom", root, viewport);
      let level = 0;
      for (const heading of all("h1, h2, h3, h4, h5, h6")) {
        if (!isShown(heading)) continue;
        const next = Number(heading.tagName[1]);
        if (next > level + 1) report("heading", heading, next + " after " + level);
        if (text(heading) === "") report("heading", heading, "empty");
        level = next;
      }
      if (all("h1").filter(isShown).length !== 1) report("heading", root, "not one h1");
      if (all("main").length !== 1) report("landmark", root, "not one main");
      for (const element of all("main aside, section section aside, main nav")) {
        report("landmark", element, "within another one");
      }
      const places = "header, main, nav, footer, form[aria-label], form[aria-labelledby], "
        + "section[aria-label], dialog, [role=status], script, noscript";
      for (const element of document.body.children) {
        if (isShown(element) && !element.matches(places)) {
          report("landmark", element, "outside of all");
        }
      }
    }

    function checkLive(report) {
      const live = all("[role=status], [role=alert], [role=log], [aria-live], output");
      if (!live.some((element) => element.matches("[role=status]"))) {
        report("live", document.body, "no status");
      }
      for (const element of live) {
        const isPolite = (element.getAttribute("aria-live") ?? "polite") === "polite";
        if (!isPolite || element.matches("[role=alert]")) report("live", element, "not polite");
        // They change up to four times a second.
        if (element.querySelector("dl, meter, [role=row]")) {
          report("live", element, "changes too often");
        }
      }
    }
    """#
}
