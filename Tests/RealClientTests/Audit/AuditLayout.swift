// SPDX-License-Identifier: MIT

extension AuditScript {
  /// Targets, width, motion, and the sight of the focus.
  static let layout = #"""
    function reachable() {
      const list = all(controls)
        .filter((element) => isShown(element) && !element.disabled && element.tabIndex >= 0);
      const dialog = document.querySelector("dialog:modal");
      return dialog ? list.filter((element) => dialog.contains(element)) : list;
    }

    function checkLayout(report, isPhone) {
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth > width) {
        report("width", document.documentElement, document.documentElement.scrollWidth + " px");
      }
      for (const element of all("body *")) {
        const scrolls = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
        if (isVisible(element) && scrolls && element.scrollWidth > element.clientWidth) {
          report("width", element, "scrolls sideways by "
            + (element.scrollWidth - element.clientWidth) + " px");
        }
      }
      for (const element of reachable()) {
        const label = element.type === "checkbox" ? element.closest("label") : null;
        const box = (label ?? element).getBoundingClientRect();
        if (box.width < 24 || box.height < 24) {
          report("target", element, box.width + " x " + box.height);
        }
        if (isPhone && (box.left < 0 || box.right > width)) {
          report("width", element, "from " + box.left + " to " + box.right);
        }
      }
      for (const element of all("main, [role=grid]")) {
        if (isVisible(element) && element.clientHeight < 120) {
          report("height", element, element.clientHeight + " px");
        }
      }
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
        for (const animation of document.getAnimations()) {
          report("motion", animation.effect.target, "an animation");
        }
        for (const element of all("*")) {
          const style = getComputedStyle(element);
          const moves = style.transitionDuration !== "0s" || style.animationName !== "none"
            || style.scrollBehavior !== "auto";
          if (moves) report("motion", element, "a transition");
        }
      }
    }

    function focusReport() {
      const element = document.activeElement;
      const wrong = [];
      const report = (rule, what) => wrong.push(rule + ": " + describe(element) + ": " + what);
      if (element && element !== document.body) {
        const style = getComputedStyle(element);
        const isRinged = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        if (!isRinged) report("focus", "no ring");
        const ring = parse(style.outlineColor);
        // Inside, or around it.
        const back = ground(parseFloat(style.outlineOffset) < 0 ? element : element.parentElement);
        if (isRinged && contrast(over(ring, back), back) < 3) report("focus", "a faint ring");
        const box = element.getBoundingClientRect();
        const isIn = box.bottom > 0 && box.right > 0 && box.top < innerHeight
          && box.left < innerWidth;
        if (!isIn || !isVisible(element)) report("focus", "out of sight");
        // Of rings outside, no part may be cut off by an ancestor that scrolls.
        const reach = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth);
        for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
          if (getComputedStyle(at).overflowX === "visible") continue;
          const outer = at.getBoundingClientRect();
          if (box.top - reach < outer.top - 0.5 && box.top >= outer.top
            || box.left - reach < outer.left - 0.5 && box.left >= outer.left) {
            report("focus", "a ring that is cut off by " + describe(at));
          }
        }
      }
      return {
        element: describe(element), place: reachable().indexOf(element), findings: wrong,
      };
    }
    """#
}
