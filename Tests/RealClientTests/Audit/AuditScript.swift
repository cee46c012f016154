// SPDX-License-Identifier: MIT

/// A script that looks for obstacles in the page for those who cannot see it well or who use no
/// mouse: the checks of common tools, as far as this page needs them.
///
/// Each check calls `report` with a rule, an element and what is wrong.
enum AuditScript {
  /// Returns an expression whose value is what is wrong: none, or one line each.
  static func findings(isPhone: Bool) -> String {
    "(() => { \(parts) return findings(\(isPhone)); })()"
  }

  /// The names of the colors in the strips in sight, by the names of the style's variables. The
  /// findings tell whether they can be told apart.
  static let stripColors = "(() => { \(parts) return checkStrips(() => {}); })()"

  /// What the focused element is, and what is wrong with its sight.
  static let focus = "(() => { \(parts) return focusReport(); })()"

  /// All elements that Tab reaches, in the order of the document.
  static let reachable = "(() => { \(parts) return reachable().map(describe); })()"

  private static let parts = [common, colors, structure, layout].joined(separator: "\n")

  private static let common = #"""
    const all = (selector) => [...document.querySelectorAll(selector)];
    /** For readers of screens. */
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
    /** Cut away, and there only for readers of screens. */
    const isQuiet = (element) => getComputedStyle(element).clipPath === "inset(50%)";
    const isVisible = (element) =>
      isShown(element) && element.getClientRects().length > 0 && !isQuiet(element);

    function describe(element) {
      if (!element || element === document.body) return "body";
      const label = element.getAttribute("aria-label") ?? "";
      const words = element.tagName === "BUTTON" ? element.textContent.trim() : label;
      const place = element.closest("[id]")?.id ?? "";
      return element.tagName.toLowerCase() + " #" + place + (words ? " '" + words + "'" : "");
    }

    function findings(isPhone) {
      const list = [];
      const report = (rule, element, what) =>
        list.push(rule + ": " + describe(element) + ": " + what);
      for (const check of [
        checkDocument, checkNames, checkRoles, checkGrid, checkLive, checkColors, checkStrips,
      ]) check(report);
      checkLayout(report, isPhone);
      return [...new Set(list)];
    }
    """#
}
